package server

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/nameserver"
)

// answer is a message that answers a question about a name.
func answer(t *testing.T, name string, rcode int) nameserver.Answered {
	t.Helper()
	var m dns.Msg
	m.SetQuestion(name, dns.TypeA)
	m.Rcode = rcode
	if rcode == dns.RcodeSuccess {
		r, err := dns.NewRR(name + " 0 IN A 198.18.0.37")
		if err != nil {
			t.Fatal(err)
		}
		m.Answer = append(m.Answer, r)
	} else {
		m.SetEdns0(1232, false)
		m.IsEdns0().Option = append(m.IsEdns0().Option, &dns.EDNS0_EDE{ExtraText: "<script>no</script>"})
	}
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return nameserver.Answered{Asker: netip.MustParseAddrPort("192.0.2.1:53"), Transport: nameserver.TCP, Took: time.Millisecond, Message: packed}
}

// Who listens is told what was asked and answered; without a listener nothing is kept.
func TestQuestionLog(t *testing.T) {
	t.Parallel()
	s := &Service{questions: newQuestionLog()}
	hear := s.hears(public)
	hear(answer(t, "a.example.", dns.RcodeSuccess))
	s.Claimed("a.example.", netip.MustParseAddr("192.0.2.1"), time.Second)
	if got := s.questions.take(); len(got.Questions)+len(got.Claims) != 0 || got.More != 0 {
		t.Errorf("nobody listens, and there is %+v", got)
	}
	s.questions.listens.Add(1)
	reused := answer(t, "a.example.", dns.RcodeSuccess)
	hear(reused)
	clear(reused.Message) // as the server does with its buffers
	hear(answer(t, "b.example.", dns.RcodeRefused))
	s.Claimed("a.example.", netip.MustParseAddr("192.0.2.1"), time.Second)
	got := s.questions.take()
	if len(got.Questions) != 2 || len(got.Claims) != 1 || got.Claims[0].After != 1 {
		t.Fatalf("%+v", got)
	}
	if q := got.Questions[0]; q.Name != "a.example." || q.Type != "A" || q.Code != "NOERROR" || len(q.Answers) != 1 || q.Answers[0] != "198.18.0.37" ||
		q.Side != public || q.Transport != "tcp" || q.Asker.String() != "192.0.2.1" || q.Took != 0.001 {
		t.Errorf("%+v", q)
	}
	if q := got.Questions[1]; q.Code != "REFUSED" || q.Why != "<script>no</script>" {
		t.Errorf("%+v", q)
	}
}

// One who begins to listen before another has ended goes on to hear.
func TestQuestionLogChangesHands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Service{questions: newQuestionLog()}
		told := make(chan any, 1)
		begin := func() (end func()) {
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan bool)
			go func() { _ = s.TellNames(ctx, func(values ...any) { told <- values[0] }); over <- true }()
			synctest.Wait()
			return func() { cancel(); <-over }
		}
		first := begin()
		second := begin()
		first()
		s.hears(public)(answer(t, "a.example.", dns.RcodeSuccess))
		select {
		case <-told:
		case <-time.After(time.Minute):
			t.Error("the second is deaf")
		}
		second()
		if n := s.questions.listens.Load(); n != 0 {
			t.Errorf("%d listen still", n)
		}
	})
}

// A flood takes a bounded room, and is counted.
func TestQuestionLogInAFlood(t *testing.T) {
	t.Parallel()
	s := &Service{questions: newQuestionLog()}
	s.questions.listens.Add(1)
	hear, flood := s.hears(private), answer(t, "a.example.", dns.RcodeSuccess)
	for range 10000 {
		hear(flood)
		s.Claimed("a.example.", netip.Addr{}, 0)
	}
	if got := s.questions.take(); len(got.Questions) != mostTold || len(got.Claims) != mostTold || got.More != 10000-mostTold {
		t.Errorf("%d questions and %d claims are told, %d more", len(got.Questions), len(got.Claims), got.More)
	}
}
