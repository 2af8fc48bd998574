package datapath

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// census counts the tables, which must agree with each other.
func (g *gateway) census() dataplane.Census {
	g.t.Helper()
	return must(dataplane.Audit(g.data))(g.t)
}

// A packet may still read a record that has just ended: it rests.
func TestEndedRecordRests(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	free := g.census().Free
	g.mapped(udp(inA, server))
	g.idle(301 * time.Second)
	g.sweep()
	census := g.census()
	same(g, "resting", census.Resting, 1)
	same(g, "free", census.Free, free-1)
	g.idle(2 * time.Second)
	census = g.census()
	same(g, "resting at last", census.Resting, 0)
	same(g, "free at last", census.Free, free)
}

// Packets stamp with a clock that is read later than the sweep's: what looks
// younger than now is young, not four billion ticks old.
func TestSweepSparesTheYounger(t *testing.T) {
	t.Parallel()
	const ahead = 2 * time.Second
	t.Run("a session", func(t *testing.T) {
		g := newGateway(t)
		g.mapped(udp(inA, server))
		g.mapped(tcp(inA, web, packets.SYN))
		g.lend(pool1, 80, service, nil)
		g.knocks(client)
		check(t, dataplane.Age(g.data, -ahead))
		before := g.census()
		g.sweep()
		same(g, "census", g.census(), before)
		g.count(3)
	})
	t.Run("a resting record", func(t *testing.T) {
		g := newGateway(t)
		g.mapped(tcp(inA, web, packets.SYN))
		g.idle(241 * time.Second)
		check(t, dataplane.Age(g.data, -ahead))
		before := g.census()
		same(g, "resting", before.Resting, 1)
		g.sweep()
		same(g, "census", g.census(), before)
	})
	t.Run("a port's quarantine", func(t *testing.T) {
		g := newGateway(t, filtering(model.EndpointIndependent))
		out := g.mapped(udp(inA, server))
		g.idle(301 * time.Second)
		check(t, dataplane.Age(g.data, -ahead))
		before := g.census()
		g.sweep()
		same(g, "ports in use", g.census().Ports, before.Ports)
		same(g, "mappings", g.census().Mappings, 1)
		if other := g.mapped(udp(endpoint(hostB, inA.Port()), server)); other == out {
			t.Fatal("another host got the port in its quarantine")
		}
	})
}
