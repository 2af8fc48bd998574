package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/lab"
)

// questionsAtFullRate sends forged questions straight to the gateway's public interface, by the last CPU alone, until it is
// stopped.
func (r *realm) questionsAtFullRate() (sent *atomic.Int64, stop func()) {
	r.t.Helper()
	var questions []packets.Packet
	for i, message := range forged(r.t) {
		source := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, byte(i), 0, 0}), 1024)
		questions = append(questions, packets.NewUDP(source, netip.AddrPortFrom(r.Gateway.PublicAddress, 53), string(message)))
	}
	return r.liveFlood(0, 8192, questions)
}

// questioned is how many questions the data plane told to come by TCP at once, and how many went through to the daemon.
func (d *daemon) questioned() (told, through uint64) {
	d.t.Helper()
	status := d.status()
	through = status.DNS.Queries
	for _, r := range status.Reasons {
		switch r.Reason {
		case model.ReasonAnsweredQuestion:
			told = r.Packets
			through -= r.Packets
		case model.ReasonAnsweredSlowed:
			through -= r.Packets
		}
	}
	return told, through
}

// What one core sends of forged questions, to a gateway whose program is at XDP, leaves 99 of 100 of 200 askers a second
// answered at once, takes a tenth of a CPU of the daemon's at most, both in one round of three at least, and reaches it no
// oftener than the limit says. Times are told and not judged.
func TestForgedQuestionsAtFullRate(t *testing.T) {
	lab.LengthyOnly(t)
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	d := r.start(atXDP(r.configuration(), "eth0", "eth1"))
	const asked, every, rounds = 2000, 5 * time.Millisecond, 3
	const limit = 512 // a second, docs/reference/dns.md
	all := func(when string) (took time.Duration, lost int64) {
		before := d.busy()
		times := make([]time.Duration, asked)
		var running sync.WaitGroup
		var unanswered atomic.Int64
		tick := time.NewTicker(every)
		defer tick.Stop()
		began := time.Now()
		for n := range asked {
			<-tick.C
			running.Go(func() {
				at := time.Now()
				answer, err := r.asks(r.Clients[0], "www."+hostName(n%2), dns.TypeA)
				if err != nil || !strings.HasPrefix(first(answer), "198.18.") {
					unanswered.Add(1) // a full ring's, say
				}
				times[n] = time.Since(at)
			})
		}
		running.Wait()
		took, lost = d.busy()-before, unanswered.Load()
		slices.Sort(times)
		t.Logf("%s: %d of %d answered in %s, median %.2f ms, 99 of 100 within %.2f ms; the daemon took %s", when, asked-lost, asked, time.Since(began).Round(time.Millisecond),
			times[asked/2].Seconds()*1e3, times[asked*99/100].Seconds()*1e3, took)
		return took, lost
	}
	calm, lost := all("calm")
	if lost > asked/100 {
		t.Errorf("without a flood %d of %d were not answered", lost, asked)
	}
	sent, stop := r.questionsAtFullRate()
	eventually(t, 10*time.Second, "the flood has begun", func() bool { return sent.Load() > 100_000 })
	round := func() (beyond []string) {
		began, before := time.Now(), sent.Load()
		toldBefore, throughBefore := d.questioned()
		flooded, lost := all("flooded")
		told, through := d.questioned()
		forged, span := sent.Load()-before, time.Since(began)
		answered, reached := int64(told-toldBefore), float64(through-throughBefore)
		t.Logf("%.0f forged questions a second, %d of %d told to come by TCP, %.0f questions reached the daemon; it took %.1f %% of a CPU more", float64(forged)/span.Seconds(),
			answered, forged, reached, 100*(flooded-calm).Seconds()/span.Seconds())
		if lost > asked/100 {
			beyond = append(beyond, fmt.Sprintf("%d of %d were not answered", lost, asked))
		}
		if (flooded-calm)*10 > span {
			beyond = append(beyond, fmt.Sprintf("the daemon took %s more in %s", flooded-calm, span))
		}
		// What bounds these is no load: they hold in each round.
		if most := asked + limit*(span.Seconds()+2); reached > most { // askers by TCP, and a burst of the limit
			t.Errorf("%.0f questions reached the daemon, at most %.0f should", reached, most)
		}
		if answered < forged/4 { // six of eight kinds are, as long as rings have room for them
			t.Errorf("%d of %d were told to come by TCP", answered, forged)
		}
		return beyond
	}
	beyond := round()
	for n := 1; n < rounds && len(beyond) > 0; n++ {
		t.Logf("round %d: %s", n, strings.Join(beyond, "; "))
		beyond = round()
	}
	stop()
	if len(beyond) > 0 {
		t.Errorf("each of %d rounds is beyond a limit, the last: %s", rounds, strings.Join(beyond, "; "))
	}
}
