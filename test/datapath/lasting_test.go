package datapath

import (
	"errors"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// What was opened by itself stays open through policies, refused ones, too, and through another daemon, until it is closed.
// What a policy has open beside it is the policy's.
func TestServicesThatAreOpenByThemselves(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	web := []datapath.Service{{Host: hostA, Port: service.Port(), Protocol: model.TCP}}
	g.policy()
	g.lend(pool1, 80, service, nil)
	syn := tcp(client, lent, packets.SYN)
	g.dropped(g.put(syn), "drop_service_closed")
	g.in(func() error { return g.data.OpenServices(web) })
	g.established(client, lent, service)
	ack := tcp(client, lent, packets.ACK)
	passes := func() {
		t.Helper()
		g.leaves(g.put(ack), tcp(client, service, packets.ACK))
	}
	g.policy()
	passes()
	g.policy(web...)
	passes()
	g.policy()
	passes()
	var many []datapath.Service
	for n := range uint16(20000) {
		many = append(many, datapath.Service{Host: hostB, Port: 10000 + n, Protocol: model.TCP})
	}
	g.in(func() error {
		if _, err := g.data.SetPolicy(g.settings, append(many, web...), nil); err == nil {
			t.Error("more than there is room for is open")
		}
		if err := g.data.OpenServices(many); !errors.Is(err, datapath.ErrServicesFull) {
			t.Errorf("more than there is room for is open by itself: %v", err)
		}
		return nil
	})
	passes()
	g.reopen()
	g.in(func() error { return g.data.OpenServices(web) }) // as a daemon does before its first policy
	g.policy()
	passes()
	g.policy(web...)
	g.in(func() error { return g.data.CloseServices(web) })
	passes() // the policy has it open, too
	g.policy()
	g.dropped(g.put(ack), "drop_service_closed")
	g.in(func() error {
		return errors.Join(g.data.OpenServices(web), g.data.CloseServices(web), g.data.CloseServices(web))
	})
	g.dropped(g.put(ack), "drop_service_closed")
}
