package dut

import (
	"context"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// lenderConfiguration lends to strangers who ask by UDP, without a limit.
func lenderConfiguration(p bench.Pool) string {
	var text strings.Builder
	fmt.Fprintf(&text, `pool:
 addresses: [%s]
 reservation_timeout: %s
 rest: 1s
 quotas: {client: 0, resolver: 0, host: 0, service: 0, total: 0, half_open: %d, half_open_per_host: 0}
hosts:
`, span(p.Addresses), reservationTimeout, p.HalfOpen)
	for host := range p.Hosts {
		fmt.Fprintf(&text, "- name: %s\n  address: %s\n  services:\n", p.HostName(host), p.Host(host))
		for service := range p.Services {
			n := host*p.Services + service
			fmt.Fprintf(&text, "  - {name: %s, protocol: udp, port: %d}\n", p.Name(n), p.Port(n))
		}
	}
	return text.String()
}

func (d *realmgateDevice) HalfOpen(ctx context.Context) (int, error) {
	status, err := d.client.Status(ctx)
	return int(status.Half.Used), err
}
