package datapath

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/filter"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
)

// returns sends each datagram back that comes to a port of an end.
func (g *gateway) returns(at *netns.Namespace, address netip.AddrPort) {
	g.t.Helper()
	socket := must(at.ListenPacket("udp4", address.String()))(g.t)
	g.t.Cleanup(func() { _ = socket.Close() })
	go func() {
		for buffer := make([]byte, 65536); ; {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(buffer[:n], from)
		}
	}()
}

// asks sends so many octets from an end, and waits for as many.
func (g *gateway) asks(from *netns.Namespace, to netip.AddrPort, octets int, within time.Duration) error {
	g.t.Helper()
	c := must(from.DialFrom(context.Background(), "udp4", netip.AddrPort{}, to.String()))(g.t)
	defer c.Close()
	check(g.t, c.SetDeadline(time.Now().Add(within)))
	if _, err := c.Write([]byte(strings.Repeat("x", octets))); err != nil {
		return err
	}
	n, err := c.Read(make([]byte, 65536))
	if err == nil && n != octets {
		g.t.Errorf("%d octets come back of %d", n, octets)
	}
	return err
}

// Datagrams, whole or in fragments, are judged by who sends the first; an ICMP error is as the session that it is about.
func TestSingleFlowsOfDatagrams(t *testing.T) {
	t.Parallel()
	atBothHooks(t, func(t *testing.T, mode datapath.Mode) {
		g := newSingle(t, mode)
		good, bad := endpoint(publicAddress, 5000), endpoint(publicAddress, 5001)
		asked, closed := endpoint(router, 53), endpoint(router, 54)
		g.returns(g.namespace, good)
		g.returns(g.namespace, bad)
		g.returns(g.outside, asked)
		list := model.NewAddressSet([]model.AddressRange{model.RangeOf(netip.PrefixFrom(router, 32))})
		g.chained([]nf.Rule{{Direction: model.In, Protocol: model.UDP, Ports: model.Ports{First: 5000, Last: 5000}, Value: 0}, {Direction: model.In, SourceSet: list, Value: 1}},
			deny(2), deny(1, nf.Rule{}))
		for _, octets := range []int{10, 4000} {
			check(t, g.asks(g.outside, good, octets, patience))
			check(t, g.asks(g.namespace, asked, octets, patience))
			before := g.counters()["drop_denied"]
			if err := g.asks(g.outside, bad, octets, brief); err == nil {
				t.Errorf("%d octets are answered that are denied", octets)
			}
			same(g, "drops", g.counters()["drop_denied"]-before, 1)
		}
		if err := g.asks(g.namespace, closed, 10, patience); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens there, and the error is %v", err)
		}
	})
}

// A function that sees every packet sees those of both directions; one that limits new sessions lets no more in.
func TestSingleFlowsAreLimited(t *testing.T) {
	t.Parallel()
	atBothHooks(t, func(t *testing.T, mode datapath.Mode) {
		g := newSingle(t, mode)
		g.echoes(g.namespace, machine22)
		packets := ratelimit.RateLimit{Meter: meter.Meter{Per: meter.PerSource, Unit: meter.Packets, Rate: 1e6, Burst: time.Second, Entries: 1024}}
		fresh := ratelimit.RateLimit{Meter: meter.Meter{Per: meter.PerSource, Unit: meter.Sessions, Rate: 0.001, Burst: 2000 * time.Second, Entries: 1024}}
		g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 1, Function: packets}, {Number: 2, Function: fresh}, {Number: 3, Function: filter.Filter{}}})
		var open []net.Conn
		for range 2 {
			c := must(g.connects(g.outside, machine22, patience))(t)
			defer c.Close()
			check(t, heard(c, patience))
			open = append(open, c)
		}
		if c, err := g.connects(g.outside, machine22, brief); err == nil {
			_ = c.Close()
			t.Error("a third gets in")
		}
		check(t, heard(open[0], patience))
		if n := g.seen(1); n < 2*6 { // SYN, SYN and ACK, ACK, two with data, and an ACK at least
			t.Errorf("the function has seen %d packets", n)
		}
	})
}

// What was decided is with the sessions: a daemon that comes after finds them.
func TestSingleFlowsAreAdopted(t *testing.T) {
	t.Parallel()
	atBothHooks(t, func(t *testing.T, mode datapath.Mode) {
		g := newSingle(t, mode)
		g.echoes(g.namespace, machine22)
		g.echoes(g.outside, router80)
		g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 2, Function: filter.Filter{Deny: []nf.Rule{{Protocol: model.UDP}}}}})
		in, own := must(g.connects(g.outside, machine22, patience))(t), must(g.connects(g.namespace, router80, patience))(t)
		defer in.Close()
		defer own.Close()
		g.reopen()
		check(t, heard(in, patience))
		check(t, heard(own, patience))
		same(g, "asked again", g.seen(2), 1)
		list := g.sessions()
		slices.SortFunc(list, func(a, b datapath.Session) int { return strings.Compare(a.Origin, b.Origin) })
		if len(list) != 2 || list[0].Origin != "own" || list[1].Origin != "own_in" || list[0].State != "established" || list[1].State != "established" {
			t.Errorf("sessions %+v", list)
		}
		g.in(g.data.Detach)
		check(t, heard(in, patience))
	})
}
