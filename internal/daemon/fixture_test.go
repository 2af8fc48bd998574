package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/lab"
)

// rig is a started gateway whose parts do not run: nothing is heard of the
// data plane and no timer fires unless a test makes it so.
type rig struct {
	commands
	t         *testing.T
	namespace *netns.Namespace
	outside   *netns.Namespace // where the other ends of its wires are
	text      string           // the configuration that it began with
	questions uint64
	explainer *explain.Explainer
	explained *view // by it
}

// somePort is where flows begin of which nobody says it.
const somePort = 40000

var remote = netip.MustParseAddrPort("203.0.113.10:4000")

// newRig starts a gateway with the configuration in a namespace of its own. Its instance is its own, too, with pins and
// a file of its state, which go when the test ends.
func newRig(t *testing.T, text string) *rig {
	t.Helper()
	return newTellingRig(t, text, slog.New(slog.DiscardHandler))
}

// newTellingRig is newRig with a log.
func newTellingRig(t *testing.T, text string, log *slog.Logger) *rig {
	t.Helper()
	b := newIdleRig(t, log)
	b.begin(text)
	return b
}

// newIdleRig is newTellingRig before the start.
func newIdleRig(t *testing.T, log *slog.Logger) *rig {
	t.Helper()
	l := lab.New(t, "gateway")
	b := &rig{t: t}
	b.compose(Options{
		ConfigFile: filepath.Join(t.TempDir(), "realmgate.yaml"), Instance: l.ID(), Logger: log,
	})
	var err error
	b.namespace, err = l.Namespace("gateway")
	b.must(err)
	b.outside, err = l.Namespace("outside")
	b.must(err)
	for ifname, address := range map[string]string{"eth0": "198.18.0.1/24", "eth1": "10.0.0.1/16"} {
		b.must(l.Veth(b.namespace, ifname, b.outside, ifname))
		b.must(b.namespace.Address(ifname, address))
		b.must(b.namespace.Up(ifname))
		b.must(b.outside.Up(ifname))
	}
	b.must(b.namespace.WaitUp())
	t.Cleanup(func() { // also of a start that fails
		b.forget()
		_ = b.store.Close()
		if b.data != nil {
			_ = b.namespace.Do(func() error { return b.data.Close(false) })
		}
		_ = os.Remove(statePath(l.ID()))
	})
	return b
}

// compose makes a gateway as Run does.
func (b *rig) compose(o Options) {
	b.commands = newDaemon(o).commands()
}

func (b *rig) begin(text string) {
	b.text = text
	b.t.Helper()
	b.must(b.namespace.Do(func() error { return b.start(document(b.t, text)) }))
}

// ban bans a prefix by hand, for an hour.
func (b *rig) ban(p netip.Prefix) {
	b.t.Helper()
	b.must(b.namespace.Do(func() error {
		_, err := b.AddBans(api.BanRequest{Prefixes: []netip.Prefix{p}, Seconds: 3600})
		return err
	}))
}

func (b *rig) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// ask is one more question over TCP by the same resolver.
func (b *rig) ask(name string) (netip.Addr, error) { return b.askFrom(remote, name) }

func (b *rig) askFrom(asker netip.AddrPort, name string) (netip.Addr, error) {
	b.questions++
	answer, err := b.pool.Allocate(context.Background(), nameserver.Question{
		Name: model.Name(name), Client: asker, Transport: nameserver.TCP, Verified: true, ID: b.questions,
	})
	return answer.Address, err
}

// send sends a packet for real, and returns the reason it ended with.
func (b *rig) send(public bool, p packets.Packet) model.Reason {
	b.t.Helper()
	end, _ := b.inject(public, p)
	return end
}

// inject is send, and returns what the data plane made of the packet, too.
func (b *rig) inject(public bool, p packets.Packet) (end model.Reason, made []byte) {
	b.t.Helper()
	before, err := b.data.Counters()
	b.must(err)
	name := "eth1"
	if public {
		name = "eth0"
	}
	b.must(b.namespace.Do(func() error {
		iface, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		_, made, err = dataplane.Inject(b.data, dataplane.Injected{Frame: datapath.Frame{
			Public: public, Ifindex: iface.Index, Octets: p.Between(packets.RouterMAC, packets.GatewayPublicMAC).Bytes(),
		}})
		return err
	}))
	after, err := b.data.Counters()
	b.must(err)
	for reason := range after {
		if after[reason] != before[reason] {
			end = reason
		}
	}
	return end, made
}

// routed gives the gateway a way to everybody outside.
func (b *rig) routed() {
	b.t.Helper()
	b.must(b.namespace.Route("default", "198.18.0.254"))
	b.must(b.namespace.Do(b.data.Refresh))
}

// connect is a client's TCP handshake with what has a port of a pool address: the SYN, the host's answer, and the segment
// by which the client proves itself. It returns the reason that the last of them ended with.
func (b *rig) connect(from netip.AddrPort, to netip.Addr, port uint16) (end model.Reason) {
	b.t.Helper()
	public := netip.AddrPortFrom(to, port)
	bound, inside, found, err := dataplane.BoundTo(b.data, model.Tuple{Protocol: model.TCP, Source: from, Destination: public})
	b.must(err)
	if end = b.send(true, packets.NewTCP(from, public, packets.SYN, "")); end.IsDrop() {
		return end
	}
	if !found {
		b.t.Fatalf("%s has no binding, and a SYN to it ended with %s", public, end)
	}
	b.answers(netip.AddrPortFrom(bound.Host, inside), from)
	return b.proves(from, public)
}

// isn is the sequence number by which hosts begin.
const isn = 1_000_000

// answers is a host's SYN to a client who has sent one.
func (b *rig) answers(from, to netip.AddrPort) {
	b.t.Helper()
	answer := packets.NewTCP(from, to, packets.SYN|packets.ACK, "")
	answer.TCP.Sequence, answer.TCP.Acknowledge = isn, 1
	if end := b.send(false, answer); end.IsDrop() {
		b.t.Errorf("the answer of %s ended with %s", from, end)
	}
}

// proves is what a client sends when it has its host's SYN.
func (b *rig) proves(from, to netip.AddrPort) model.Reason {
	b.t.Helper()
	proof := packets.NewTCP(from, to, packets.ACK, "")
	proof.TCP.Sequence, proof.TCP.Acknowledge = 1, isn+1
	return b.send(true, proof)
}

// admits wants a client to be let in.
func (b *rig) admits(from netip.AddrPort, to netip.Addr, port uint16) {
	b.t.Helper()
	if end := b.connect(from, to, port); end.IsDrop() {
		b.t.Errorf("%s to %s port %d ended with %s", from, to, port, end)
	}
}

// refuses wants its first packet to end with a reason.
func (b *rig) refuses(from netip.AddrPort, to netip.Addr, port uint16, want model.Reason) {
	b.t.Helper()
	if end := b.connect(from, to, port); end != want {
		b.t.Errorf("%s to %s port %d ended with %s, want %s", from, to, port, end, want)
	}
}

// reloadWith changes the configuration file and reloads it.
func (b *rig) reloadWith(text string) error {
	b.t.Helper()
	if err := os.WriteFile(b.options.ConfigFile, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return b.namespace.Do(func() error {
		_, err := b.reload.Reload(api.ReloadRequest{})
		return err
	})
}

// open lists the reservations that are open in the data plane.
func (b *rig) open() []datapath.Reservation {
	b.t.Helper()
	all, err := b.data.Reservations()
	if err != nil {
		b.t.Fatal(err)
	}
	var open []datapath.Reservation
	for _, r := range all {
		if r.Open {
			open = append(open, r)
		}
	}
	return open
}

func (b *rig) mustAsk(name string) netip.Addr {
	b.t.Helper()
	address, err := b.ask(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return address
}

// standing is the open reservation that expires last.
func (b *rig) standing() (last datapath.Reservation) {
	b.t.Helper()
	for _, r := range b.open() {
		if r.Expires > last.Expires {
			last = r
		}
	}
	if last.ID == 0 {
		b.t.Fatal("no reservation stands")
	}
	return last
}

// place is what the pool says of a service.
func (b *rig) place(service string) (allocation.Place, bool) {
	for _, p := range b.pool.Places() {
		if p.Service.Name == model.Name(service) && p.State == pool.Bound {
			return p, true
		}
	}
	return allocation.Place{}, false
}
