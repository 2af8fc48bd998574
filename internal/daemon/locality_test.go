package daemon

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// Where an answer from outside may lead: to what dnat opens to everybody, though it is the gateway's own, and to nothing else of it.
func TestLeadsInside(t *testing.T) {
	t.Parallel()
	var g Daemon
	own, opened, ports := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.7"), netip.MustParseAddr("198.18.0.2")
	g.machine.SetAddresses(map[netip.Addr]bool{own: true, opened: true, ports: true})
	g.view.Store(&view{config: &config.Config{}, realm: &realm.Realm{}, dnat: ruleset.Dnat{
		Addresses: []netip.Addr{opened}, Ports: []datapath.Service{{Host: ports, Port: 443, Protocol: model.TCP}},
	}})
	for a, want := range map[netip.Addr]bool{own: true, opened: false, ports: false, netip.MustParseAddr("2001:db8::1"): false} {
		if g.leadsInside(a) != want {
			t.Errorf("%s: %v", a, !want)
		}
	}
	if !g.servesInside(own) || !g.servesInside(ports) {
		t.Error("the gateway itself is not served")
	}
}
