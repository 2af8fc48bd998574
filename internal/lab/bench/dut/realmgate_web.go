package dut

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/bench"
)

// realmgateNAT and realmgateNATTCX lead an address to each host: what names cost is what realmgate takes beside them.
var (
	realmgateNAT = bench.Model{
		Name: "realmgate-nat", About: "this program, by an address for each host: dnat", Held: realmgate.Held, Translates: true, Bytes: realmgate.Bytes,
		New: func() bench.Device { return &realmgateDevice{mode: "xdp", apart: true} },
	}
	realmgateNATTCX = bench.Model{
		Name: "realmgate-nat-tcx", About: "the same where traffic control begins", Held: realmgate.Held, Translates: true, Bytes: realmgate.Bytes,
		New: func() bench.Device { return &realmgateDevice{mode: "tcx", apart: true} },
	}
)

// webConfiguration has sites at one address, or each host at an address for itself.
func webConfiguration(w bench.Web, apart bool) string {
	text := &strings.Builder{}
	text.WriteString("pool: {addresses: [198.18.254.1]}\n")
	if apart {
		text.WriteString("chains:\n")
		for i := range w.Hosts {
			fmt.Fprintf(text, "- {name: h%d, match: {direction: in, to: %s}, functions: [{use: dnat, to: %s}]}\n", i, w.Apart().From.At(i), w.Host(i))
		}
		return text.String()
	}
	fmt.Fprintf(text, "web: {addresses: [%s]}\nhosts:\n", bench.WebAddress)
	for i := range w.Hosts {
		fmt.Fprintf(text, "- {name: %s., address: %s, open: [tcp/%d]}\n", w.Name(i), w.Host(i), bench.WebPort)
	}
	return text.String()
}

func (d *realmgateDevice) Front(i int) netip.Addr {
	if d.apart {
		return d.setup.Web.Apart().From.At(i)
	}
	return bench.WebAddress
}

// asked waits until the gateway knows what its hosts can, which it promises to clients.
func (d *realmgateDevice) asked(ctx context.Context) error {
	if d.apart || d.setup.Web.Hosts == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		var hosts []struct {
			State string `json:"state"`
		}
		if err := d.client.Listing(ctx, client.Listing{Name: "web"}, client.Filter{}, &hosts); err != nil {
			return fmt.Errorf("ask the gateway what its hosts can: %w", err)
		}
		known := 0
		for _, h := range hosts {
			if h.State == "asked" {
				known++
			}
		}
		if known == d.setup.Web.Hosts {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}
