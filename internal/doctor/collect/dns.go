package collect

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/doctor"
)

const (
	answers    = 1500 * time.Millisecond // that a name server has for an answer
	domain     = 53                      // the port
	ednsSize   = 1232                    // octets that it may have
	mostAsked  = 2                       // name servers of the zone above
	mostLabels = 8                       // that are taken off a zone to find it
)

// upstream asks a name server for the root, plainly, with EDNS and over TCP, at the same time.
func upstream(ctx context.Context, at netip.AddrPort) doctor.Server {
	s := doctor.Server{Address: at}
	var waits sync.WaitGroup
	waits.Go(func() { s.UDP = says(ctx, at, "udp", question(".", dns.TypeNS)) })
	waits.Go(func() { s.EDNS = says(ctx, at, "udp", question(".", dns.TypeNS).SetEdns0(ednsSize, false)) })
	waits.Go(func() { s.TCP = says(ctx, at, "tcp", question(".", dns.TypeNS)) })
	waits.Wait()
	return s
}

func question(name string, kind uint16) *dns.Msg { return new(dns.Msg).SetQuestion(name, kind) }

// says is why an answer is none.
func says(ctx context.Context, at netip.AddrPort, network string, q *dns.Msg) string {
	answer, err := ask(ctx, at, network, q)
	switch {
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return "no answer within " + answers.String()
	case err != nil:
		return err.Error()
	case answer.Rcode != dns.RcodeSuccess:
		return "it says " + dns.RcodeToString[answer.Rcode]
	}
	return ""
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func ask(ctx context.Context, at netip.AddrPort, network string, q *dns.Msg) (*dns.Msg, error) {
	ctx, stop := context.WithTimeout(ctx, answers)
	defer stop()
	c := dns.Client{Net: network, Timeout: answers}
	answer, _, err := c.ExchangeContext(ctx, q, at.String())
	return answer, err
}

// delegation asks a name server of the zone above who serves a zone of ours.
func delegation(ctx context.Context, resolver netip.AddrPort, zone, wanted string, to netip.Addr) doctor.Delegation {
	d := doctor.Delegation{Zone: zone, Wanted: wanted, To: to}
	parents := parentsOf(ctx, resolver, zone)
	for _, parent := range parents[:min(mostAsked, len(parents))] {
		at := addressesOf(ctx, resolver, parent)
		if len(at) == 0 {
			continue
		}
		d.Parent = parent
		q := question(zone, dns.TypeNS)
		q.RecursionDesired = false
		answer, err := ask(ctx, netip.AddrPortFrom(at[0], domain), "udp", q)
		if err != nil {
			d.Error = err.Error()
			continue
		}
		d.Error = ""
		d.Servers = targets(zone, slices.Concat(answer.Answer, answer.Ns))
		d.Leads = glue(wanted, answer.Extra)
		if len(d.Leads) == 0 {
			d.Leads = addressesOf(ctx, resolver, wanted)
		}
		break
	}
	return d
}

// parentsOf are the name servers of the nearest zone above.
func parentsOf(ctx context.Context, resolver netip.AddrPort, zone string) []string {
	labels := dns.SplitDomainName(zone)
	for n := 1; n <= min(len(labels), mostLabels); n++ {
		above := dns.Fqdn(strings.Join(labels[n:], "."))
		answer, err := ask(ctx, resolver, "udp", question(above, dns.TypeNS))
		if err != nil {
			return nil // said of the name server
		}
		if found := targets(above, answer.Answer); len(found) > 0 {
			return found
		}
	}
	return nil
}

func targets(owner string, records []dns.RR) (names []string) {
	for _, r := range records {
		if ns, ok := r.(*dns.NS); ok && strings.EqualFold(ns.Hdr.Name, owner) {
			names = append(names, ns.Ns)
		}
	}
	return names
}

func glue(name string, records []dns.RR) (list []netip.Addr) {
	for _, r := range records {
		if a, ok := r.(*dns.A); ok && strings.EqualFold(a.Hdr.Name, name) {
			if address, ok := netip.AddrFromSlice(a.A.To4()); ok {
				list = append(list, address)
			}
		}
	}
	return list
}

func addressesOf(ctx context.Context, resolver netip.AddrPort, name string) []netip.Addr {
	answer, err := ask(ctx, resolver, "udp", question(name, dns.TypeA))
	if err != nil {
		return nil
	}
	return glue(name, answer.Answer)
}
