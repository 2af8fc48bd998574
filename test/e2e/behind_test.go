package e2e

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// byResolver asks a resolver for a name and fetches its page, in one process.
func (r *realm) byResolver(from netns.Node, name, page string) error {
	answer, err := ask(from, "udp", r.Resolver.IP, name, dns.TypeA)
	if err != nil {
		return err
	}
	address, err := netip.ParseAddr(first(answer))
	if err != nil {
		return fmt.Errorf("%s has no address: %s", name, dns.RcodeToString[answer.Rcode])
	}
	got, err := visit(from, address, 80)
	if err == nil && got != page {
		err = fmt.Errorf("asked for %s at %s and reached %q", name, address, got)
	}
	return err
}

// 12 clients of one resolver ask for one name at the same moment, eight times, each
// time another name that knows none of them: all 96 get in. So do five that fetch
// one file from as many places, as those who issue certificates do (RFC 8555 §8.3).
func TestBurstsBehindUnbound(t *testing.T) {
	t.Parallel()
	const clients, rounds, vantages = 12, 8, 5
	r := newRealm(t, netns.Options{Hosts: rounds + 1, RemoteClients: clients, Resolver: true})
	r.webServers()
	r.resolver()
	d := r.start(r.configuration())
	for round := range rounds + 1 {
		who := r.RemoteClients
		if round == rounds {
			who = who[:vantages]
		}
		start := make(chan struct{})
		var running sync.WaitGroup
		for _, c := range who {
			running.Go(func() {
				<-start
				if err := r.byResolver(c, "www."+hostName(round), hostName(round)); err != nil {
					t.Errorf("round %d: %s: %v", round, c.IP, err)
				}
			})
		}
		close(start)
		running.Wait()
	}
	if s := d.status(); s.DNS.Exhausted > 0 || s.Lent < rounds {
		t.Errorf("%d lent, %d questions without an address", s.Lent, s.DNS.Exhausted)
	}
}
