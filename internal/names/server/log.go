package server

import (
	"context"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/nameserver"
)

const (
	tellEvery = 200 * time.Millisecond
	// mostTold is how many questions, and how many claims, are told at a time: more than a person reads. The rest is counted.
	mostTold = 20
	// mostWaiting is how many answers wait to be told: a flood is not copied.
	mostWaiting = 256
)

// questionLog hands what was answered to who listens. Without a listener that is a look at a flag, and nobody who asks ever waits.
type questionLog struct {
	listens *atomic.Int32 // how many do: one may begin before another has ended
	answers chan heard
	claims  chan api.Claim
	more    *atomic.Uint64 // that found no room
}

// heard is an answer whose message is a copy.
type heard struct {
	nameserver.Answered
	side string
	at   time.Time
}

func newQuestionLog() questionLog {
	return questionLog{new(atomic.Int32), make(chan heard, mostWaiting), make(chan api.Claim, mostWaiting), new(atomic.Uint64)}
}

// hear takes an answer, if there is room for it.
func (l *questionLog) hear(side string, a nameserver.Answered) {
	if l.listens.Load() == 0 {
		return
	}
	if len(l.answers) == cap(l.answers) {
		l.more.Add(1)
		return
	}
	a.Message = append([]byte(nil), a.Message...)
	select {
	case l.answers <- heard{a, side, time.Now()}:
	default:
		l.more.Add(1)
	}
}

// Claimed hears that a client came by an answer.
func (s *Service) Claimed(name string, asker netip.Addr, after time.Duration) {
	if s.questions.listens.Load() == 0 {
		return
	}
	select {
	case s.questions.claims <- api.Claim{Time: time.Now(), Name: name, Asker: asker, After: after.Seconds()}:
	default: // its question, which is told, is one of too many to look at
	}
}

// TellNames tells what is asked, and what came of it, until ctx ends. It is a source of a stream, which runs once.
func (s *Service) TellNames(ctx context.Context, tell func(...any)) error {
	s.questions.listens.Add(1)
	defer s.questions.listens.Add(-1)
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if told := s.questions.take(); told.More > 0 || len(told.Questions) > 0 || len(told.Claims) > 0 {
			tell(told)
		}
	}
}

// take takes what waits, of the answers the first ones.
func (l *questionLog) take() (told api.NamesTold) {
	for n := len(l.answers); n > 0; n-- {
		if a := <-l.answers; len(told.Questions) < mostTold {
			told.Questions = append(told.Questions, describe(a))
		} else {
			told.More++
		}
	}
	for n := min(len(l.claims), mostTold); n > 0; n-- {
		told.Claims = append(told.Claims, <-l.claims)
	}
	told.More += l.more.Swap(0)
	return told
}

// mostAnswers is how many records of an answer are told.
const mostAnswers = 4

// describe says what an answer says.
func describe(a heard) api.Question {
	q := api.Question{
		Time: a.at.UTC(), Side: a.side, Transport: a.Transport.String(), Asker: a.Asker.Addr(), Took: a.Took.Seconds(),
	}
	var m dns.Msg
	if err := m.Unpack(a.Message); err != nil { // it is ours, or has passed a filter
		q.Code = "unreadable"
		return q
	}
	q.Code, q.Cut = dns.RcodeToString[m.Rcode], m.Truncated
	if len(m.Question) > 0 {
		q.Name, q.Type = m.Question[0].Name, dns.TypeToString[m.Question[0].Qtype]
	}
	for _, r := range m.Answer[:min(len(m.Answer), mostAnswers)] {
		q.Answers = append(q.Answers, strings.TrimSpace(strings.TrimPrefix(r.String(), r.Header().String())))
	}
	if options := m.IsEdns0(); options != nil {
		for _, o := range options.Option {
			if e, ok := o.(*dns.EDNS0_EDE); ok {
				q.Why = e.ExtraText
				if q.Why == "" {
					q.Why = dns.ExtendedErrorCodeToString[e.InfoCode]
				}
			}
		}
	}
	return q
}
