package datapath

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// A closed service ends its sessions also while their packets pass: none is
// judged by services that are about to leave. Many others close with it, so
// that the change takes as long as many packets.
func TestClosedServiceEndsBusySessions(t *testing.T) {
	t.Parallel()
	const rounds = 5
	g := newGateway(t)
	for n := range uint16(2000) {
		g.services = append(g.services, datapath.Service{Host: hostB, Port: 10000 + n, Protocol: model.TCP})
	}
	g.lend(pool1, 80, service, func(r *datapath.Reservation) { r.Claims = rounds })
	for n := range uint16(rounds) {
		g.policy(g.services...)
		busy := endpoint(remote2, 50000+n)
		g.established(busy, lent, service)
		frame := outside(tcp(busy, lent, packets.ACK)).Bytes()
		g.during(func() error {
			_, _, err := g.inject(true, g.public, frame)
			return err
		}, func() error {
			_, err := g.data.SetPolicy(g.settings, nil, nil)
			return err
		})
		g.dropped(g.send(true, frame), "drop_service_closed")
		g.dropped(g.put(tcp(endpoint(remote2, 50000), lent, packets.ACK)), "drop_service_closed")
	}
}

// A policy that does not fit leaves no trace: neither what it opens nor what it closes.
func TestRefusedPolicyLeavesNoTrace(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	generation := must(g.data.Generation())(t)
	g.lend(pool1, 80, service, nil)
	g.established(client, lent, service)
	opens := endpoint(hostB, 9999)
	services := []datapath.Service{{Host: hostB, Port: 9999, Protocol: model.TCP}}
	for n := range uint16(20000) {
		services = append(services, datapath.Service{Host: hostB, Port: 10000 + n, Protocol: model.TCP})
	}
	g.in(func() error {
		if now, err := g.data.SetPolicy(g.settings, services, nil); err == nil || now != 0 {
			t.Errorf("generation %d, %v", now, err)
		}
		return nil
	})
	same(g, "generation", must(g.data.Generation())(t), generation)
	g.leaves(g.put(tcp(client, lent, packets.ACK)), tcp(client, service, packets.ACK))
	g.lend(pool2, 80, opens, nil)
	g.dropped(g.put(tcp(client2, endpoint(pool2, 80), packets.SYN)), "drop_service_closed")
	g.policy(services[:100]...) // there is room again
	g.dropped(g.put(tcp(client, lent, packets.ACK)), "drop_service_closed")
}

// policy puts the services into force, under settings as they are.
func (g *gateway) policy(services ...datapath.Service) {
	g.t.Helper()
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, services, nil); return err })
}

// during runs change once while another thread repeats f, from f's first end
// to change's.
func (g *gateway) during(f, change func() error) {
	g.t.Helper()
	var changed atomic.Bool
	var once sync.Once
	running := make(chan struct{})
	g.atOnce(2, func(thread int) error {
		if thread == 0 {
			defer changed.Store(true)
			<-running
			return change()
		}
		defer once.Do(func() { close(running) }) // also when f fails
		for !changed.Load() {
			if err := f(); err != nil {
				return err
			}
			once.Do(func() { close(running) })
		}
		return nil
	})
}
