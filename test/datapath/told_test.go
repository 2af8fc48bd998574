package datapath

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// watch has somebody watch until the test ends.
func (g *gateway) watch(w *datapath.Watch) {
	g.t.Helper()
	w.Failed = func(err error) { g.t.Error(err) }
	check(g.t, g.data.Watch(w))
	g.t.Cleanup(func() { g.data.Unwatch(w) })
}

// drops are those from now on.
func (g *gateway) drops() <-chan datapath.DropEvent {
	g.t.Helper()
	drops := make(chan datapath.DropEvent, 1024)
	g.watch(&datapath.Watch{Drop: func(e datapath.DropEvent) { drops <- e }})
	return drops
}

// flows are what becomes of mappings and sessions from now on, in words.
func (g *gateway) flows() <-chan string {
	g.t.Helper()
	flows, _ := g.some(true, true)
	return flows
}

// some is flows of what is wanted alone, until end.
func (g *gateway) some(mappings, sessions bool) (heard <-chan string, end func()) {
	g.t.Helper()
	flows := make(chan string, 1024)
	words := map[datapath.Told]string{datapath.MappingBegins: "mapping begins", datapath.MappingEnds: "mapping ends",
		datapath.SessionBegins: "session begins", datapath.SessionChanges: "session is", datapath.SessionEnds: "session ends"}
	tell := func(e datapath.FlowEvent) {
		text := fmt.Sprint(words[e.Told], " ", e.Protocol, " ", e.Private, " ", e.External)
		if e.Told >= datapath.SessionBegins {
			text += fmt.Sprint(" ", e.Remote, " ", e.State, " ", e.Origin)
		}
		if ago := datapath.Now().Sub(e.At); ago < 0 || ago > time.Minute {
			g.t.Errorf("%s: %v ago", text, ago)
		}
		flows <- text
	}
	w := &datapath.Watch{}
	if mappings {
		w.Mapping = tell
	}
	if sessions {
		w.Session = tell
	}
	g.watch(w)
	return flows, func() { g.data.Unwatch(w) }
}

func hears(g *gateway, flows <-chan string, want ...string) {
	g.t.Helper()
	for _, w := range want {
		select {
		case got := <-flows:
			same(g, "what is told", got, w)
		case <-time.After(20 * time.Second):
			g.t.Fatalf("nothing is told, want %q", w)
		}
	}
	select {
	case got := <-flows:
		g.t.Errorf("told besides: %s", got)
	default:
	}
}

// A mapping is told of when it begins and when its port is free again, once each; a session when it begins, when its TCP state
// changes, and when it ends.
func TestFlowsAreTold(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	flows := g.flows()
	out := g.mapped(udp(inA, server))
	at := fmt.Sprintf("udp %s %s", inA, out)
	hears(g, flows, "mapping begins "+at, "session begins "+at+" "+server.String()+" open inside")
	g.mapped(udp(inA, server)) // a packet of a session
	g.put(udp(server, out))
	g.mapped(udp(inA, web)) // another session, the same mapping
	hears(g, flows, "session begins "+at+" "+web.String()+" open inside")
	check(t, dataplane.Age(g.data, time.Hour))
	g.sweep()
	one, other := <-flows, <-flows // the sweep takes them as they stand
	if one > other {
		one, other = other, one
	}
	same(g, "end", one+"\n"+other, "session ends "+at+" "+server.String()+" open inside\nsession ends "+at+" "+web.String()+" open inside")
	check(t, dataplane.Age(g.data, time.Hour))
	g.sweep()
	hears(g, flows, "mapping ends "+at)

	out = g.mapped(tcp(inA, web, packets.SYN))
	at = fmt.Sprintf("tcp %s %s", inA, out)
	of := at + " " + web.String()
	hears(g, flows, "mapping begins "+at, "session begins "+of+" syn inside")
	g.put(tcp(web, out, packets.SYN|packets.ACK))
	hears(g, flows, "session is "+of+" syn_both inside")
	g.put(tcp(inA, web, packets.ACK))
	hears(g, flows, "session is "+of+" established inside")
	for range 3 {
		g.put(tcp(inA, web, packets.ACK))
	}
	g.in(func() error { _, err := g.data.EndAll(); return err })
	hears(g, flows, "session ends "+of+" established inside", "mapping ends "+at)
}

// Who hears of mappings alone, or of sessions, hears of these, though both begin at once; of a mapping whose session finds no room,
// it begins and ends.
func TestFlowsAreToldApart(t *testing.T) {
	t.Parallel()
	g := newGateway(t, capacity(model.MinCapacity), filtering(model.EndpointIndependent))
	at := fmt.Sprintf("udp %s %s", inB, endpoint(outbound, inB.Port()))
	for _, step := range []struct {
		mappings, sessions bool
		want               []string
	}{
		{true, false, []string{"mapping begins " + at, "mapping ends " + at}},
		{false, true, []string{"session begins " + at + " " + server.String() + " open inside", "session ends " + at + " " + server.String() + " open inside"}},
	} {
		flows, end := g.some(step.mappings, step.sessions)
		g.mapped(udp(inB, server))
		g.in(func() error { _, err := g.data.EndAll(); return err })
		check(t, dataplane.Age(g.data, time.Hour))
		g.sweep() // the port of a datagram protocol waits
		hears(g, flows, step.want...)
		end()
	}
	house := g.evict(2, udp(inB, server))
	check(t, dataplane.Age(g.data, time.Hour))
	g.sweep()
	flows := g.flows()
	release := g.stuff()
	same(g, "reason", g.put(udp(inB, server)).reason, "drop_session_index_full")
	release()
	house()
	hears(g, flows, "mapping begins "+at, "mapping ends "+at)
}

// Nobody is told of sessions to the pool that anybody can begin and whose client has proved nothing.
func TestUnprovedSessionsAreNotTold(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.lend(pool1, 80, endpoint(hostA, 80), nil)
	flows := g.flows()
	stranger := endpoint(remote, 40000)
	same(g, "SYN of anybody", g.put(tcp(stranger, endpoint(pool1, 80), packets.SYN)).reason, "forwarded")
	g.mapped(udp(inB, server))
	hears(g, flows, fmt.Sprintf("mapping begins udp %s %s", inB, endpoint(outbound, inB.Port())),
		fmt.Sprintf("session begins udp %s %s %s open inside", inB, endpoint(outbound, inB.Port()), server))
}

// What the ring has no room for is counted, and what is in it is heard by the next who watches.
func TestUntoldFlowsAreCounted(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.watch(&datapath.Watch{Mapping: func(datapath.FlowEvent) {}})
	g.data.StopWatches() // as a daemon does that leaves the data plane at work
	const room, each = 1 << 21 / 48, 1000
	begun, untold := uint64(0), uint64(0)
	for untold < 10 && begun < 2*room {
		for n := range uint16(each) {
			g.put(tcp(endpoint(hostA, 2000+n), web, packets.SYN))
		}
		g.in(func() error { _, err := g.data.EndAll(); return err })
		begun += each
		untold = g.untold()
	}
	var heard atomic.Uint64
	all := make(chan bool)
	g.watch(&datapath.Watch{Mapping: func(datapath.FlowEvent) {
		if heard.Add(1) == 2*begun-untold {
			close(all)
		}
	}})
	select {
	case <-all:
	case <-time.After(time.Minute):
	}
	if untold == 0 || heard.Load()+untold != 2*begun {
		t.Errorf("%d mappings have begun and ended: %d events were heard, %d were not", begun, heard.Load(), untold)
	}
	g.data.KnowUntold(untold)
	if _, known, err := g.data.FlowsUntold(); err != nil || known != untold {
		t.Errorf("known are %d, %v", known, err)
	}
}

func (g *gateway) untold() uint64 {
	g.t.Helper()
	n, _, err := g.data.FlowsUntold()
	check(g.t, err)
	return n
}

// While nobody reads, half of the ring is of flows alone: samples of drops take none of that, and are counted as missed.
func TestDropsLeaveRoomForFlows(t *testing.T) {
	t.Parallel()
	const each, dropped = 1000, 5
	half := uint64(1<<20/48 + 1024*ebpf.MustPossibleCPU()) // behind what rows have
	g := newGateway(t)
	var mappings, drops atomic.Uint64
	all := make(chan bool)
	begun := uint64(0)
	watch := func() {
		g.watch(&datapath.Watch{
			Mapping: func(datapath.FlowEvent) {
				if mappings.Add(1) == 2*begun {
					close(all)
				}
			},
			Drop: func(datapath.DropEvent) { drops.Add(1) },
		})
	}
	watch()
	g.data.StopWatches() // as a daemon does that leaves the data plane at work
	for ; 2*begun <= half; begun += each {
		for n := range uint16(each) {
			g.put(tcp(endpoint(hostA, 2000+n), web, packets.SYN))
		}
		g.in(func() error { _, err := g.data.EndAll(); return err })
	}
	drop := func(n int) { // on one CPU, as each counts for itself
		g.on(0, func() (err error) {
			for range n {
				if err == nil {
					_, _, err = g.inject(true, g.public, addressed(udp(endpoint(remote, 40000), endpoint(pool1, 80))).Bytes())
				}
			}
			return err
		})
	}
	drop(dropped)
	watch()
	select {
	case <-all:
	case <-time.After(20 * time.Second):
		t.Fatalf("of %d beginnings and ends %d are told", 2*begun, mappings.Load())
	}
	if n := drops.Load(); n > 0 {
		t.Errorf("%d drops took room of flows", n)
	}
	g.data.StopWatches()
	samples, unwatch := g.watchDrops(16)
	defer unwatch()
	drop(1)
	select {
	case next := <-samples:
		if next.Missed != dropped {
			t.Errorf("%d drops are said to be missed, %d were", next.Missed, dropped)
		}
	case <-time.After(20 * time.Second):
		t.Error("a drop behind them is not told")
	}
}

// on does something on one of the machine's CPUs.
func (g *gateway) on(cpu int, do func() error) {
	g.t.Helper()
	g.in(func() error {
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil { // of this thread, which ends with the function
			return err
		}
		return do()
	})
}

// What begins on one CPU and ends on another is told in that order, whichever CPU's row is looked into first, and once.
func TestFlowsOfAllCPUsComeInOrder(t *testing.T) {
	t.Parallel()
	const rounds, each = 100, 20
	g := newGateway(t)
	var told int
	stands, all := map[netip.AddrPort]bool{}, make(chan bool)
	g.watch(&datapath.Watch{Mapping: func(e datapath.FlowEvent) {
		if begins := e.Told == datapath.MappingBegins; begins == stands[e.Private] {
			t.Errorf("event %d, of %s: begins is %v, again", told, e.Private, begins)
		} else {
			stands[e.Private] = begins
		}
		if told++; told == 2*rounds*each {
			close(all)
		}
	}})
	cpus := runtime.NumCPU()
	for n := range rounds {
		g.on(n%cpus, func() (err error) {
			for i := range uint16(each) {
				if err == nil {
					_, _, err = g.inject(false, g.private, inside(tcp(endpoint(hostA, 2000+i), web, packets.SYN)).Bytes())
				}
			}
			return err
		})
		g.on((n+1)%cpus, func() error { _, err := g.data.EndAll(); return err })
	}
	select {
	case <-all:
	case <-time.After(time.Minute):
		t.Fatalf("of %d beginnings and ends not all are told", 2*rounds*each)
	}
}
