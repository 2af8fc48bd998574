package nameserver

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	notifyTries   = 6 // RFC 1996 §3.6 suggests five more than one; a secondary asks by itself, too
	notifyFirst   = time.Second
	notifyTimeout = 2 * time.Second
	notifyAtOnce  = 64 // messages under way
)

// notifier tells secondaries that a zone has changed (NOTIFY, RFC 1996).
type notifier struct {
	changed chan struct{} // there may be something to tell
	serving *sync.Mutex   // one of several Serve calls does it
	slots   chan struct{}
}

func newNotifier() notifier {
	return notifier{changed: make(chan struct{}, 1), serving: &sync.Mutex{}, slots: make(chan struct{}, notifyAtOnce)}
}

func (n *notifier) wake() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// addressee is who is told of what.
type addressee struct {
	zone model.Name
	to   Secondary
}

// run tells every secondary of each serial once, until ctx ends.
func (n *notifier) run(ctx context.Context, p *Public) {
	if !n.serving.TryLock() {
		return
	}
	defer n.serving.Unlock()
	told := map[addressee]uint32{}
	var sending sync.WaitGroup
	defer sending.Wait()
	n.wake() // they may have missed what happened before
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.changed:
		}
		settings, now := p.settings.Load(), map[addressee]uint32{}
		for _, z := range settings.authority.zones {
			for _, secondary := range z.secondaries {
				who, serial := addressee{z.name, secondary}, z.live.Load().serial
				now[who] = serial
				if last, ok := told[who]; !ok || last != serial {
					sending.Go(func() { n.tell(ctx, p, settings, z, secondary, serial) })
				}
			}
		}
		told = now
	}
}

// tell sends until an answer comes, a newer serial makes it idle, or it has
// tried often enough.
func (n *notifier) tell(ctx context.Context, p *Public, settings *publicSettings, z *served, to Secondary, serial uint32) {
	var err error
	for try := range notifyTries {
		select {
		case n.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err = notify(ctx, settings, z, to)
		<-n.slots
		if err == nil {
			p.counters.notified.Add(1)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(notifyFirst << try):
		}
		if z.live.Load().serial != serial {
			return
		}
	}
	p.counters.notifyFailed.Add(1)
	p.logger.Warn("notify failed", "zone", z.name, "secondary", to.Address, "serial", serial, "error", err)
}

func notify(ctx context.Context, settings *publicSettings, z *served, to Secondary) error {
	key := settings.keys[to.Key]
	m := new(dns.Msg).SetNotify(string(z.name))
	m.Answer = []dns.RR{z.start(string(z.name), z.soa.Hdr.Ttl)}
	m.SetTsig(string(key.name), key.algorithm, signatureFudge, time.Now().Unix())
	client := dns.Client{TsigSecret: map[string]string{string(key.name): key.secret}, Timeout: notifyTimeout}
	if settings.source.IsValid() {
		client.Dialer = &net.Dialer{LocalAddr: &net.UDPAddr{IP: settings.source.AsSlice()}, Timeout: notifyTimeout}
	}
	reply, _, err := client.ExchangeContext(ctx, m, to.Address.String())
	if err != nil {
		return fmt.Errorf("tell %s: %w", to.Address, err)
	}
	if reply.Rcode != dns.RcodeSuccess {
		return fmt.Errorf("tell %s: it answers %s", to.Address, dns.RcodeToString[reply.Rcode])
	}
	return nil
}
