package dut

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// reservationTimeout is the longest that the gateway waits for the first packet to an
// address that it lent.
const reservationTimeout = 60 * time.Second

// poolConfiguration is for sessions from outside: a host for each address of the
// pool, open whole, and as many sessions of one client as there can be. Every name is asked for once, in order, so that the nth address is lent to
// the nth host, as a static rule would have it.
func poolConfiguration(s bench.Setup) string {
	var text strings.Builder
	fmt.Fprintf(&text, `pool:
 addresses: [%s]
 order: circular
 reservation_timeout: %s
 quotas: {client: 0, resolver: 0, host: 0, service: 0, total: 0, half_open: %d, client_sessions: 65535}
hosts:
`, span(s.DNAT.From), reservationTimeout, s.DNAT.From.Count)
	for i := range s.DNAT.From.Count {
		fmt.Fprintf(&text, "- {name: %s, address: %s, open: all}\n", hostName(i), s.DNAT.Target(i))
	}
	return text.String()
}

func hostName(i int) string { return fmt.Sprintf("h%d.bench.example.", i) }

// Lend implements bench.Acquainter: it asks for every name, so that all addresses of the
// pool wait for a first packet.
func (d *realmgateDevice) Lend(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reservationTimeout)
	defer cancel()
	server := netip.AddrPortFrom(bench.PublicAddress.Addr(), 53).String()
	connection, err := d.rig.Device.DialContext(ctx, "udp", server)
	if err != nil {
		return fmt.Errorf("ask the gateway for names: %w", err)
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return fmt.Errorf("ask the gateway for names: %w", err)
		}
	}
	asker := &dns.Conn{Conn: connection}
	for i := range d.setup.DNAT.From.Count {
		if err := ask(asker, hostName(i), d.setup.DNAT.From.At(i)); err != nil {
			return fmt.Errorf("ask the gateway for %s: %w", hostName(i), err)
		}
	}
	return nil
}

// ask is an error unless the answer is the address wanted.
func ask(asker *dns.Conn, name string, want netip.Addr) error {
	question := new(dns.Msg).SetQuestion(name, dns.TypeA)
	if err := asker.WriteMsg(question); err != nil {
		return err
	}
	answer, err := asker.ReadMsg()
	if err != nil {
		return err
	}
	if len(answer.Answer) == 1 {
		if a, ok := answer.Answer[0].(*dns.A); ok && a.A.String() == want.String() {
			return nil
		}
	}
	return fmt.Errorf("want %s, and the answer is %s: %v", want, dns.RcodeToString[answer.Rcode], answer.Answer)
}
