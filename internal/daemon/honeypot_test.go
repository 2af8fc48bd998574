package daemon

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

const withHoneypot = "protection: {honeypot: {tcp: [23], bantime: 1h}}\n"

// caught has somebody complete a handshake with the honeypot.
func (b *rig) caught(address string) {
	b.t.Helper()
	from, to := netip.AddrPortFrom(netip.MustParseAddr(address), 5000), netip.MustParseAddrPort("198.18.0.40:23")
	end, made := b.inject(true, packets.NewTCP(from, to, packets.SYN, ""))
	answer, err := packets.Parse(made)
	if b.must(err); end != "answered_honeypot" {
		b.t.Fatalf("a SYN to the honeypot ended with %s", end)
	}
	proof := packets.NewTCP(from, to, packets.ACK, "")
	proof.TCP.Sequence, proof.TCP.Acknowledge = 1, answer.TCP.Sequence+1
	if end := b.send(true, proof); end != "drop_honeypot" {
		b.t.Fatalf("a handshake with the honeypot ended with %s", end)
	}
}

// running runs the service of a name until stop or the end of the test; wait waits for its end.
func (b *rig) running(name string) (stop, wait func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var list lifecycle.List[*draft, *api.Status]
	for _, s := range b.services {
		if s.Name == name {
			list = append(list, s)
		}
	}
	var running sync.WaitGroup
	running.Go(func() { _ = b.namespace.Do(func() error { return list.Run(ctx) }) })
	b.t.Cleanup(func() { cancel(); running.Wait() })
	return cancel, running.Wait
}

// within waits for something that takes a moment.
func (b *rig) within(what string, happened <-chan struct{}) {
	b.t.Helper()
	select {
	case <-happened:
	case <-time.After(20 * time.Second):
		b.t.Fatalf("%s: not within 20 s", what)
	}
}

// Who is caught just before a stop, on a disk that stalls, is banned before the store is closed, and so after the next
// start.
func TestCaughtAtAStopAreOnTheDisk(t *testing.T) {
	t.Parallel()
	o := newOffended(t, withHoneypot)
	o.routed()
	exempt, asked, disk := o.bans.Exempt, make(chan struct{}), make(chan struct{})
	o.bans.Exempt = func() (ban.Exempt, error) {
		close(asked)
		<-disk
		return exempt()
	}
	stop, wait := o.running("honeypot")
	o.caught("203.0.113.7")
	o.within("a ban of who was caught", asked)
	stop()
	close(disk)
	wait()
	var kept []string
	o.must(o.store.Each("bans", func(key string, _ []byte) error { kept = append(kept, key); return nil }))
	if !slices.Equal(kept, []string{"203.0.113.7/32"}) {
		t.Errorf("at the end of the service the disk has %q", kept)
	}
	o.restart(false, "")
	o.want("banned are", "203.0.113.7/32 1h0m0s honeypot: tcp port 23, offence 1")
}

// A reload that takes the honeypot away forgives those who are not banned yet: they have not offended.
func TestCaughtWithoutAHoneypotHaveNotOffended(t *testing.T) {
	t.Parallel()
	o := newOffended(t, withHoneypot)
	o.routed()
	rules, asked := o.honeypot.Rules, make(chan struct{}, 8)
	o.honeypot.Rules = func() settings.Honeypot {
		defer func() { asked <- struct{}{} }()
		return rules()
	}
	o.caught("203.0.113.7")
	o.must(o.reloadWith(text))
	stop, wait := o.running("honeypot")
	o.within("the rules for who was caught", asked)
	stop()
	wait()
	o.want("banned is nobody")
	o.must(o.store.Each("offences", func(key string, _ []byte) error { t.Errorf("%s has offended", key); return nil }))
}
