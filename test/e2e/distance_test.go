package e2e

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// faraway is a client behind the router whose packets take half of a round trip
// each way: a wire between two interfaces of a namespace that holds frames back.
func (r *realm) faraway(number int, roundTrip time.Duration) netns.Node {
	r.t.Helper()
	name := fmt.Sprintf("far%d", number)
	client, wire := r.namespace(name), r.namespace("wire"+name)
	network := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{198, 19, byte(200 + number), last}) }
	whole := netns.GRO(netns.BothEnds, false) // frames as they were sent
	for _, step := range []func() error{
		func() error { return r.Veth(client, "eth0", wire, "near", whole) },
		func() error { return r.Veth(r.Router, name, wire, "away", whole) },
		func() error { return r.Router.Address(name, network(1).String()+"/24") },
		func() error { return client.Address("eth0", network(10).String()+"/24") },
		func() error { return r.Router.Up(name) }, func() error { return client.Up("eth0") },
		func() error { return wire.Up("near") }, func() error { return wire.Up("away") },
		func() error { return client.Route("default", network(1).String()) },
		client.WaitUp, wire.WaitUp, r.Router.WaitUp,
	} {
		if err := step(); err != nil {
			r.t.Fatal(err)
		}
	}
	// The upper half of its network is its own, too.
	r.command(name, "ip", "route", "add", "local", network(128).String()+"/25", "dev", "lo")
	r.hold(wire, "near", "away", roundTrip/2)
	return netns.Node{Namespace: client, IP: network(10)}
}

func (r *realm) namespace(name string) *netns.Namespace {
	r.t.Helper()
	n, err := r.Namespace(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// hold joins two interfaces, until the test ends, by a wire on which every frame
// takes the time.
func (r *realm) hold(wire *netns.Namespace, a, b string, takes time.Duration) {
	r.t.Helper()
	var ends [2]*netns.Frames
	for i, ifname := range []string{a, b} {
		frames, err := wire.Frames(ifname)
		if err != nil {
			r.t.Fatal(err)
		}
		ends[i] = frames
	}
	type frame struct {
		due    time.Time
		octets []byte
	}
	var running sync.WaitGroup
	for i := range ends {
		from, to, way := ends[i], ends[1-i], make(chan frame, 1<<14)
		running.Go(func() {
			defer close(way)
			for {
				octets, err := from.Receive(time.Time{})
				if err != nil {
					return
				}
				way <- frame{time.Now().Add(takes), append([]byte(nil), octets...)}
			}
		})
		running.Go(func() {
			for f := range way {
				time.Sleep(time.Until(f.due))
				_ = to.Send(f.octets)
			}
		})
	}
	r.t.Cleanup(func() {
		_, _ = ends[0].Close(), ends[1].Close()
		running.Wait()
	})
}
