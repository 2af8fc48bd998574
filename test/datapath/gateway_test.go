package datapath

import (
	"encoding/binary"
	"flag"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/lab/planes"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/lab"
)

// The network around the gateway under test.
var (
	publicAddress  = netip.MustParseAddr("198.18.0.1")
	privateAddress = netip.MustParseAddr("10.0.0.1")
	outbound       = netip.MustParseAddr("198.18.0.2")
	pool1          = netip.MustParseAddr("198.18.0.32")
	pool2          = netip.MustParseAddr("198.18.0.33")
	hostA          = netip.MustParseAddr("10.0.0.100")
	hostB          = netip.MustParseAddr("10.0.0.101")
	remote         = netip.MustParseAddr("203.0.113.10") // behind the router
	remote2        = netip.MustParseAddr("203.0.113.11")
	router         = netip.MustParseAddr("198.18.0.254")
)

// gateway is a data plane in a namespace, with hostA, hostB and the router as
// known neighbours.
type gateway struct {
	t               testing.TB
	lab             *netns.Lab
	namespace       *netns.Namespace
	outside, inside *netns.Namespace // the other ends of eth0 and eth1
	data            *datapath.Datapath
	public, private int // interface indexes
	settings        datapath.Settings
	services        []datapath.Service
	states          nf.States
	ids             uint64 // of bindings and reservations
	bound           map[public]datapath.Binding
	instance        string // of the pins
	options         datapath.Options
}

// setup is what a test may want otherwise.
type setup struct {
	datapath.Options
	datapath.Settings
	link      []netns.VethOption // of eth0 and its peer; EndA is the gateway
	addresses []string           // more addresses of eth0
	strangers bool               // no neighbour is known
	before    func() error       // the data plane is made, in its namespace
	forwards  []forward
}

type option func(*setup)

func capacity(n int) option {
	return func(s *setup) { s.Capacity = n }
}

func filtering(f model.Filtering) option {
	return func(s *setup) { s.Filtering = f }
}

func outboundAddresses(a ...netip.Addr) option {
	return func(s *setup) { s.Outbound = a }
}

func timeouts(change func(*datapath.Settings)) option {
	return func(s *setup) { change(&s.Settings) }
}

func publicLink(options ...netns.VethOption) option {
	return func(s *setup) { s.link = options }
}

// attachedAt has programs attached to both interfaces in a mode; without it, in that in which frames are injected.
func attachedAt(mode datapath.Mode) option {
	return func(s *setup) { s.Modes = map[string]datapath.Mode{"eth0": mode, "eth1": mode} }
}

// auto leaves the mode to the interfaces.
func auto(s *setup) { s.Modes = map[string]datapath.Mode{} }

// shared puts the outbound address on the public interface.
func shared(s *setup) { s.addresses = []string{outbound.String() + "/24"} }

// strangers leaves the neighbours' link addresses unknown.
func strangers(s *setup) { s.strangers = true }

func newGateway(t testing.TB, options ...option) *gateway {
	t.Helper()
	l := lab.New(t, "datapath")
	s := setup{Settings: datapath.Settings{
		Filtering: model.AddressDependent, PortQuarantine: 120 * time.Second, ClientSessions: 256,
		Timeouts: model.Timeouts{
			model.TimeoutTCPEstablished: 7440 * time.Second, model.TimeoutTCPTransitory: 240 * time.Second, model.TimeoutTCPClosing: 240 * time.Second,
			model.TimeoutUDP: 300 * time.Second, model.TimeoutUDPUnanswered: 300 * time.Second, model.TimeoutDNS: 300 * time.Second,
			model.TimeoutICMP: 60 * time.Second, model.TimeoutOthers: 300 * time.Second,
		},
	}, Options: datapath.Options{
		Public: []string{"eth0"}, Private: []string{"eth1"}, Capacity: 4096, Outbound: []netip.Addr{outbound},
	}}
	for _, change := range options {
		change(&s)
	}
	if s.Modes == nil { // the kernel verifies the programs of one form alone
		attachedAt(datapath.Mode(*modeFlag))(&s)
	}
	s.Instance = l.ID()
	plane := planes.Take(s.Options)
	g := &gateway{t: t, lab: l, settings: s.Settings, ids: 1, instance: s.Instance, options: s.Options, bound: map[public]datapath.Binding{}}
	t.Cleanup(func() { // whatever fails before: others wait for the plane
		var err error
		if g.data != nil {
			err = g.namespace.Do(func() error { return g.data.Close(true) })
		}
		plane.Release(err != nil || t.Failed())
	})
	g.namespace = must(l.Namespace("gateway"))(t)
	outside := must(l.Namespace("outside"))(t)
	inside := must(l.Namespace("inside"))(t)
	g.outside, g.inside = outside, inside
	check(t, l.Veth(g.namespace, "eth0", outside, "eth0", s.link...))
	check(t, l.Veth(g.namespace, "eth1", inside, "eth0"))
	check(t, g.namespace.Address("eth0", "198.18.0.1/24"))
	for _, a := range s.addresses {
		check(t, g.namespace.Address("eth0", a))
	}
	check(t, g.namespace.Address("eth1", "10.0.0.1/16"))
	check(t, g.namespace.Up("eth0"))
	check(t, g.namespace.Up("eth1"))
	check(t, outside.Up("eth0"))
	check(t, inside.Up("eth0"))
	check(t, g.namespace.WaitUp())
	check(t, g.namespace.Route("default", router.String()))
	g.in(func() error {
		g.public, g.private = ifindex(t, "eth0"), ifindex(t, "eth1")
		if !s.strangers {
			neighbour(t, g.public, router, packets.RouterMAC)
			neighbour(t, g.private, hostA, packets.HostMAC)
			neighbour(t, g.private, hostB, packets.OtherHostMAC)
		}
		if s.before != nil {
			check(t, s.before())
		}
		var err error
		if g.data, err = plane.Open(); err != nil {
			return err
		}
		_, _, _ = g.inject(false, g.private, nil) // no frame: it loads the form, which takes a while
		if err = g.data.SetAddresses([]netip.Addr{pool1, pool2}, nil); err != nil {
			return err
		}
		for _, host := range []netip.Addr{hostA, hostB} {
			g.services = append(g.services, datapath.Service{Host: host}, datapath.Service{Host: host, Protocol: model.ICMP})
			for _, port := range []uint16{80, 5000, 8080, 8081} {
				g.services = append(g.services, datapath.Service{Host: host, Port: port, Protocol: model.TCP},
					datapath.Service{Host: host, Port: port, Protocol: model.UDP})
			}
		}
		if _, err = g.data.SetPolicy(g.settings, g.services, nil); err != nil {
			return err
		}
		return g.data.Attach()
	})
	if s.forwards != nil {
		g.forwards(s.forwards)
	}
	return g
}

// reopen lets the daemon go, and another one come.
func (g *gateway) reopen() {
	g.t.Helper()
	g.in(func() error {
		if err := g.data.Close(true); err != nil {
			return err
		}
		var err error
		if g.data, err = datapath.Open(g.options); err != nil {
			return err
		}
		if !g.data.Adopted() {
			g.t.Fatal("the data plane was not adopted")
		}
		return g.data.Attach()
	})
}

// in runs f in the gateway's namespace.
func (g *gateway) in(f func() error) {
	g.t.Helper()
	check(g.t, g.namespace.Do(f))
}

// result is what became of a packet.
type result struct {
	action dataplane.Action
	packet packets.Packet
	frame  []byte
	reason model.Reason // for a packet that was dropped and answered: why
}

func (g *gateway) fromInside(p packets.Packet) result  { g.t.Helper(); return g.send(false, p.Bytes()) }
func (g *gateway) fromOutside(p packets.Packet) result { g.t.Helper(); return g.send(true, p.Bytes()) }

// send puts a frame in and returns what came out, with the reason that the
// gateway counted for it.
func (g *gateway) send(public bool, frame []byte) result {
	g.t.Helper()
	before := g.counters()
	var r result
	g.in(func() error {
		ifindex := g.private
		if public {
			ifindex = g.public
		}
		var err error
		r.action, r.frame, err = g.inject(public, ifindex, frame)
		return err
	})
	for reason, count := range g.counters() {
		if count != before[reason] && !r.reason.IsDrop() {
			r.reason = reason
		}
	}
	if p, err := packets.Parse(r.frame); err == nil {
		r.packet = p
	}
	return r
}

// modeFlag is the form of the data plane that frames are put into.
var modeFlag = flag.String("mode", string(datapath.XDP), "form of the data plane that frames are put into: xdp or tcx")

func atTCX() bool { return datapath.Mode(*modeFlag) == datapath.TCX }

// runs reports whether the kernel runs a program on the frame: as a socket buffer it has to
// have the header that its type says.
func runs(frame []byte) bool { return runsAt(datapath.Mode(*modeFlag), frame) }

func runsAt(mode datapath.Mode, frame []byte) bool {
	least := 14
	if mode == datapath.TCX && len(frame) >= least {
		switch binary.BigEndian.Uint16(frame[12:]) {
		case 0x0800:
			least = 34
		case 0x86dd:
			least = 54
		default:
			least = 15
		}
	}
	return len(frame) >= least
}

func (g *gateway) inject(public bool, ifindex int, frame []byte) (dataplane.Action, []byte, error) {
	return dataplane.Inject(g.data, dataplane.Injected{Frame: datapath.Frame{Public: public, Ifindex: ifindex, Octets: frame}, Mode: datapath.Mode(*modeFlag)})
}

// chainsOf are chains as the data plane takes them.
func chainsOf(made nf.Programs) datapath.Chains {
	return datapath.Chains{
		XDP: datapath.ChainPrograms(made.XDP), TCX: datapath.ChainPrograms(made.TCX),
		In: made.In, Out: made.Out, Input: made.Input, Honeypot: made.Honeypot,
	}
}

func (g *gateway) counters() map[model.Reason]uint64 {
	g.t.Helper()
	return must(g.data.Counters())(g.t)
}

// sessions lists the sessions.
func (g *gateway) sessions() []datapath.Session {
	g.t.Helper()
	var list []datapath.Session
	check(g.t, g.data.Sessions(func(s datapath.Session) { list = append(list, s) }))
	return list
}

func (g *gateway) sweep() {
	g.t.Helper()
	g.in(func() error { _, err := g.data.Sweep(nil); return err })
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ifindex(t testing.TB, name string) int {
	t.Helper()
	return must(netlink.LinkByName(name))(t).Attrs().Index
}

func neighbour(t testing.TB, ifindex int, ip netip.Addr, mac packets.MAC) {
	t.Helper()
	check(t, netlink.NeighSet(&netlink.Neigh{
		LinkIndex: ifindex, IP: net.IP(ip.AsSlice()), HardwareAddr: net.HardwareAddr(mac[:]), State: netlink.NUD_PERMANENT,
	}))
}

func setMTU(name string, octets int) error {
	iface, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetMTU(iface, octets)
}
