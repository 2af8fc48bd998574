package gateway

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/packets"
	"github.com/realmgate/realmgate/internal/pool"
)

// rig is a started gateway whose parts do not run: nothing is heard of the
// data plane and no timer fires unless a test makes it so.
type rig struct {
	*Gateway
	t         *testing.T
	namespace *lab.Namespace
	eth0      int // its index
	questions uint64
}

var remote = netip.MustParseAddrPort("203.0.113.10:4000")

// newRig starts a gateway with the configuration in a namespace of its own.
func newRig(t *testing.T, text string) *rig {
	t.Helper()
	l := lab.NewForTest(t, "gateway")
	b := &rig{t: t, Gateway: &Gateway{
		options: Options{ConfigFile: filepath.Join(t.TempDir(), "realmgate.yaml"), Logger: slog.New(slog.DiscardHandler)},
		freed:   make(chan struct{}), kick: make(chan struct{}, 1), trapped: newTrapped(),
	}}
	b.log = b.options.Logger
	var outside *lab.Namespace
	var err error
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b.namespace, err = l.Namespace("gateway")
	check(err)
	outside, err = l.Namespace("outside")
	check(err)
	for ifname, address := range map[string]string{"eth0": "198.18.0.1/24", "eth1": "10.0.0.1/16"} {
		check(l.Veth(b.namespace, ifname, outside, ifname))
		check(b.namespace.Address(ifname, address))
		check(b.namespace.Up(ifname))
		check(outside.Up(ifname))
	}
	check(b.namespace.WaitUp())
	check(b.namespace.Do(func() error {
		iface, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		b.eth0 = iface.Index
		return b.start(document(t, text))
	}))
	t.Cleanup(func() {
		_ = b.bans.store.Close() // the next rig's is the same file
		_ = b.namespace.Do(func() error { return b.data.Close(false) })
	})
	return b
}

// ask is one more question over TCP by the same resolver.
func (b *rig) ask(name string) (netip.Addr, error) {
	b.questions++
	answer, err := b.Allocate(context.Background(), nameserver.Question{
		Name: model.Name(name), Client: remote, Transport: nameserver.TCP, ID: b.questions,
	})
	return answer.Address, err
}

// claim is a first TCP packet from outside.
func (b *rig) claim(from netip.AddrPort, to netip.Addr) {
	b.t.Helper()
	frame := packets.NewTCP(from, netip.AddrPortFrom(to, 80), packets.SYN, "").
		Between(packets.RouterMAC, packets.GatewayPublicMAC).Bytes()
	err := b.namespace.Do(func() error {
		_, _, err := b.data.Inject(true, b.eth0, frame)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// reloadWith changes the configuration file and reloads it.
func (b *rig) reloadWith(text string) error {
	b.t.Helper()
	if err := os.WriteFile(b.options.ConfigFile, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return b.namespace.Do(func() error {
		_, err := b.Reload()
		return err
	})
}

// open lists what the data plane has on offer.
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

// standing is the pool's offer that expires last.
func (b *rig) standing() pool.Reservation {
	b.t.Helper()
	var last pool.Reservation
	for r := range b.pool.All() {
		if r.State == pool.Offered && r.Expires > last.Expires {
			last = r
		}
	}
	if last.ID == 0 {
		b.t.Fatal("no offer stands")
	}
	return last
}
