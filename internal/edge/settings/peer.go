package settings

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Peer is another edge.
type Peer struct {
	Name    model.Name
	Zones   []model.Name   // what it speaks for, at least one
	Address netip.AddrPort // invalid: it dials us
	Pins    [][32]byte     // SHA-256 of the SubjectPublicKeyInfo of its certificate, 1 to MostPins
	Legacy  bool           // where it cannot be reached, its names are asked as before
	MTU     int            // inner octets, no more than this; 0: by probing
}

type peer struct {
	schema.Begun
	peer     Peer
	nameLine int
	zones    []schema.At[model.Name]
	pins     []schema.At[[32]byte]
	fallback string
}

func (p *peer) keys() []schema.Key {
	p.fallback = "none"
	return []schema.Key{
		schema.OneAt("name", &p.peer.Name, &p.nameLine, schema.Domain()).Must(),
		schema.Many("zones", &p.zones, schema.Domain(), 1).Most(mostZones).Must(),
		schema.One("address", &p.peer.Address, endpoint()).Otherwise("none: it dials us"),
		pinsKey(&p.pins),
		schema.One("fallback", &p.fallback, schema.OneOf("none", "legacy")),
		schema.One("mtu", &p.peer.MTU, mtu(false)).Otherwise("as edges.mtu"),
	}
}

// pinsKey is one pin, or a list of them.
func pinsKey(target *[]schema.At[[32]byte]) schema.Key {
	k := pin()
	want := k.Want + ", or a list of at most " + fmt.Sprint(MostPins)
	return schema.Key{
		Name: "key", Required: true, Kind: "text or list of: " + k.Name, Allowed: fmt.Sprintf("sha256/ and base64, 1 to %d", MostPins), Value: k.Form(), Item: k.Form(),
		Items: func() (list []string) {
			for _, p := range *target {
				list = append(list, k.Show(p.Value))
			}
			return list
		},
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			items := []*yaml.Node{node}
			if node.Kind != yaml.ScalarNode {
				items = schema.Elements(faults, node, path, want, 1)
			}
			if len(items) > MostPins {
				faults.Add(items[MostPins].Line, "%s: there are %d, at most %d are allowed", path, len(items), MostPins)
				items = items[:MostPins]
			}
			for _, item := range items {
				if value, ok := schema.ReadValue(faults, item, path, k); ok {
					*target = append(*target, schema.At[[32]byte]{Value: value, Line: item.Line})
				}
			}
		},
	}
}

// finishPeers sees to it that each peer and each zone is there once, and that no peer has ours.
func (d *Draft) finishPeers(faults *schema.Faults, own []model.Name) {
	names, zones, pins := schema.Once[model.Name]{}, schema.Once[model.Name]{}, schema.Once[string]{}
	for i, p := range d.peers {
		path := fmt.Sprintf("edges.peers[%d]", i)
		if p.nameLine > 0 && names.Take(faults, path+".name", p.peer.Name, p.nameLine) && p.peer.Name == d.edges.Name {
			faults.Add(p.nameLine, "%s.name: %s is our own, edges.name", path, p.peer.Name)
		}
		for _, z := range p.zones {
			zones.Take(faults, path+".zones", z.Value, z.Line)
			for _, o := range own {
				if z.Value.In(o) {
					faults.Add(z.Line, "%s.zones: %s is in %s, which is of realm.zones", path, z.Value, o)
				}
			}
		}
		for _, key := range p.pins { // by it, each could be the other
			pins.Take(faults, path+".key", pin().Show(key.Value), key.Line)
		}
		p.peer.Zones, p.peer.Pins, p.peer.Legacy = schema.Values(p.zones), schema.Values(p.pins), p.fallback == "legacy"
		d.edges.Peers = append(d.edges.Peers, p.peer)
	}
	if n := d.edges.Links; len(d.peers) > n {
		faults.Add(d.peers[n].Line, "edges.peers: there are %d, and edges.links is %d", len(d.peers), n)
	}
}
