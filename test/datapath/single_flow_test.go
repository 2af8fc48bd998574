package datapath

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

// singleFlows is a single machine whose chains are asked: nothing is translated, and it has all that there is (internal/plane).
func singleFlows(s *setup) {
	single(s)
	s.SingleFlows, s.strangers = true, true
	s.Except = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0)}
}

// newSingle is such a machine, attached in a mode, and its neighbour at the router's address.
func newSingle(t *testing.T, mode datapath.Mode, options ...option) *gateway {
	t.Helper()
	g := newGateway(t, append([]option{singleFlows, wanted(mode)}, options...)...)
	check(t, g.outside.Address("eth0", router.String()+"/24"))
	if now, _ := g.mode(); now != mode {
		t.Fatalf("attached at %s, want %s", now, mode)
	}
	return g
}

// atBothHooks runs a test for each hook that packets come in by.
func atBothHooks(t *testing.T, run func(t *testing.T, mode datapath.Mode)) {
	t.Helper()
	for _, mode := range []datapath.Mode{datapath.XDP, datapath.TCX} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			run(t, mode)
		})
	}
}

// patience is how long a test waits for what must come, and brief for what must not: that shows in the counters, too.
const (
	patience = 10 * time.Second
	brief    = 300 * time.Millisecond
)

// echoes answers each connection to a port of an end with what it says.
func (g *gateway) echoes(at *netns.Namespace, address netip.AddrPort) {
	g.t.Helper()
	listener := must(at.Listen("tcp4", address.String()))(g.t)
	g.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
}

// connects opens a connection from an end.
func (g *gateway) connects(from *netns.Namespace, to netip.AddrPort, within time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(g.t.Context(), within)
	defer cancel()
	return from.DialFrom(ctx, "tcp4", netip.AddrPort{}, to.String())
}

// heard says something on a connection and hears it again.
func heard(c net.Conn, within time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 5))
	return err
}

var (
	machine22 = endpoint(publicAddress, 22)
	machine23 = endpoint(publicAddress, 23)
	router80  = endpoint(router, 80)
)

// A chain says who may come to a single machine, once for each flow; what the machine begins itself is answered whatever it says.
func TestSingleFlowsAreJudged(t *testing.T) {
	t.Parallel()
	atBothHooks(t, func(t *testing.T, mode datapath.Mode) {
		g := newSingle(t, mode)
		g.echoes(g.namespace, machine22)
		g.echoes(g.namespace, machine23)
		g.echoes(g.outside, router80)
		all := deny(1, nf.Rule{Source: netip.MustParsePrefix("0.0.0.0/0")})
		g.chained([]nf.Rule{{Direction: model.In, Protocol: model.TCP, Ports: model.Ports{First: 22, Last: 22}, Value: 0}, {Direction: model.In, Value: 1}}, deny(2), all)
		open := must(g.connects(g.outside, machine22, patience))(t)
		defer open.Close()
		check(t, heard(open, patience))
		if c, err := g.connects(g.outside, machine23, brief); err == nil {
			_ = c.Close()
			t.Error("port 23 is reached")
		}
		if g.counters()["drop_denied"] == 0 {
			t.Error("no drop is counted")
		}
		own := must(g.connects(g.namespace, router80, patience))(t)
		defer own.Close()
		check(t, heard(own, patience))
		same(g, "sessions", len(g.sessions()), 2)
		g.chained([]nf.Rule{{Direction: model.In}}, all) // of the next generation
		if err := heard(open, brief); err == nil {
			t.Error("a flow that is denied now goes on")
		}
		check(t, heard(own, patience))
		g.chained([]nf.Rule{{Direction: model.Out}}, all)
		check(t, heard(open, patience)) // what was sent before comes again
		if err := heard(own, brief); err == nil {
			t.Error("what the machine began goes on, and is denied")
		}
		if c, err := g.connects(g.namespace, router80, brief); err == nil {
			_ = c.Close()
			t.Error("the machine begins what is denied")
		}
	})
}

// Connections that were open before go on: those that came in are judged as open ones after a reload, and are told from those that
// the machine has begun.
func TestSingleFlowsOpenBefore(t *testing.T) {
	t.Parallel()
	atBothHooks(t, func(t *testing.T, mode datapath.Mode) {
		g := newSingle(t, mode)
		g.echoes(g.namespace, machine22)
		g.echoes(g.namespace, machine23)
		g.echoes(g.outside, router80)
		good := must(g.connects(g.outside, machine22, patience))(t)
		bad := must(g.connects(g.outside, machine23, patience))(t)
		own := must(g.connects(g.namespace, router80, patience))(t)
		for _, c := range []net.Conn{good, bad, own} {
			defer c.Close()
			check(t, heard(c, patience))
		}
		must(g.data.EndAll())(t)
		same(g, "sessions", len(g.sessions()), 0)
		g.chained([]nf.Rule{{Direction: model.In}}, deny(1, nf.Rule{Protocol: model.TCP, Ports: model.Ports{First: 23, Last: 65535}}))
		check(t, heard(good, patience))
		check(t, heard(own, patience))
		if err := heard(bad, brief); err == nil {
			t.Error("a connection that is denied goes on")
		}
		same(g, "sessions", len(g.sessions()), 3)
		for _, s := range g.sessions() {
			if s.State != "established" {
				t.Errorf("a session is %s: %+v", s.State, s)
			}
		}
	})
}

// A segment that is of no connection opens nothing, and is the kernel's.
func TestSingleFlowsOfNoConnection(t *testing.T) {
	t.Parallel()
	atBothHooks(t, func(t *testing.T, mode datapath.Mode) {
		g := newSingle(t, mode)
		g.echoes(g.namespace, machine22)
		g.chained([]nf.Rule{{Direction: model.In}}, deny(1, nf.Rule{}))
		for _, flags := range []packets.Flags{packets.ACK, synAck, packets.RST, packets.FIN | packets.ACK} {
			p := tcp(endpoint(remote, 50000), machine22, flags)
			g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
		}
		g.dropped(g.put(tcp(endpoint(remote, 50000), machine22, packets.SYN)), "drop_denied")
		same(g, "sessions", len(g.sessions()), 0)
	})
}
