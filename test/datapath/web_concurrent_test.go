package datapath

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
)

// A host's SYN and ACK comes twice, at once on two CPUs: one opens the session, and the other leaves it as it is.
func TestConcurrentAnswersOfAHost(t *testing.T) {
	t.Parallel()
	const threads, rounds, each = 2, 100, 10 // within the three seconds that a host has
	g := newGateway(t)
	g.serves(allPromised)
	events, err := g.data.WebEvents()
	check(t, err)
	defer events.Close() //nolint:errcheck // the test is over
	go events.Follow(func(error) {}, func(datapath.WebEvent) {})
	for round := range uint16(rounds) {
		g.in(g.data.WebHeartbeat)
		visits, frames := [each]*visit{}, [each][]byte{}
		for i := range visits {
			v := g.visitor(endpoint(remote, 20000+round*each+uint16(i)), fullAbility, fullAbility)
			v.knocks(allPromised)
			check(t, g.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Host: v.at, Name: 7}))
			g.forwarded(g.put(v.first("GET /")))
			visits[i], frames[i] = v, addressed(v.says(synAck, hostISN, v.isn+1, "", v.host.options(hostClock, clientClock+5))).Bytes()
		}
		var here [each]atomic.Int32
		g.atOnce(threads, func(int) error {
			for i, frame := range frames {
				here[i].Add(1)
				for began := time.Now(); here[i].Load() < threads && time.Since(began) < time.Millisecond; {
					runtime.Gosched()
				}
				if _, _, err := g.inject(false, g.private, frame); err != nil {
					return err
				}
			}
			return nil
		})
		for _, v := range visits {
			check(t, g.data.ForgetWeb(v.flow()))
			v.difference = v.cookie - hostISN
			v.talks()
		}
		must(g.data.EndAll())(t)
	}
	g.sound()
}
