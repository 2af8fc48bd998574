package nameserver

import (
	"testing"

	"github.com/miekg/dns"
)

// Each answer is counted by its code, and how long it took is told, over UDP and TCP. A name that is lent waits on another goroutine.
func TestAnswersAreCounted(t *testing.T) {
	t.Parallel()
	told := make(chan Transport, 8)
	server, _ := newPublic(t, func(o *PublicOptions) {
		o.Took = func(a Answered) {
			if a.Took <= 0 {
				t.Errorf("%s took %s", a.Transport, a.Took)
			}
			var m dns.Msg
			if err := m.Unpack(a.Message); err != nil || len(m.Question) != 1 || !a.Asker.Addr().IsLoopback() {
				t.Errorf("%s was answered %v, %v", a.Asker, &m, err)
			}
			told <- a.Transport
		}
	})
	address := start(t, server)
	for _, c := range []struct {
		network, name string
		code          int
	}{
		{"udp", "foo.example.", dns.RcodeSuccess}, {"udp", "nobody.foo.example.", dns.RcodeNameError}, {"udp", "example.net.", dns.RcodeRefused},
		{"tcp", "example.net.", dns.RcodeRefused}, {"tcp", "www.hosta.foo.example.", dns.RcodeSuccess},
	} {
		if got := ask(t, address, c.network, request(c.name, dns.TypeA)); got.Rcode != c.code {
			t.Errorf("%s over %s: %s", c.name, c.network, dns.RcodeToString[got.Rcode])
		}
	}
	heard := map[Transport]int{}
	for range 5 {
		heard[<-told]++ // what follows was counted before
	}
	if heard[UDP] != 3 || heard[TCP] != 2 {
		t.Errorf("heard %v", heard)
	}
	want := [rcodes]uint64{dns.RcodeSuccess: 2, dns.RcodeNameError: 1, dns.RcodeRefused: 2}
	if got := server.Statistics().Answers; got != want {
		t.Errorf("counted %v, want %v", got, want)
	}
}
