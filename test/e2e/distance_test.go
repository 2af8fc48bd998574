package e2e

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// faraway is a client behind the router whose packets take half of a round trip
// each way.
func (r *realm) faraway(number int, roundTrip time.Duration) netns.Node {
	r.t.Helper()
	client, _ := r.behindWire(number, weather{takes: roundTrip / 2})
	return client
}

// behindWire is a client behind the router, at the other end of a wire between
// two interfaces of a namespace.
func (r *realm) behindWire(number int, first weather) (netns.Node, *wire) {
	r.t.Helper()
	name := fmt.Sprintf("far%d", number)
	client, between := r.namespace(name), r.namespace("wire"+name)
	network := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{198, 19, byte(200 + number), last}) }
	whole := netns.GRO(netns.BothEnds, false) // frames as they were sent
	for _, step := range []func() error{
		func() error { return r.Veth(client, "eth0", between, "near", whole) },
		func() error { return r.Veth(r.Router, name, between, "away", whole) },
		func() error { return r.Router.Address(name, network(1).String()+"/24") },
		func() error { return client.Address("eth0", network(10).String()+"/24") },
		func() error { return r.Router.Up(name) }, func() error { return client.Up("eth0") },
		func() error { return between.Up("near") }, func() error { return between.Up("away") },
		func() error { return client.Route("default", network(1).String()) },
		client.WaitUp, between.WaitUp, r.Router.WaitUp,
	} {
		if err := step(); err != nil {
			r.t.Fatal(err)
		}
	}
	// The upper half of its network is its own, too.
	r.command(name, "ip", "route", "add", "local", network(128).String()+"/25", "dev", "lo")
	return netns.Node{Namespace: client, IP: network(10)}, r.wire(between, "near", "away", first)
}

func (r *realm) namespace(name string) *netns.Namespace {
	r.t.Helper()
	n, err := r.Namespace(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}
