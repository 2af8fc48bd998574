package dnat

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "dnat", New: func(string) nf.Draft { return &draft{} }}

// Settings are the private endpoint that flows from outside go to.
type Settings struct {
	To   netip.Addr
	Port uint16 // 0: the flow's own
}

type draft struct{ settings Settings }

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	return []schema.Key{
		schema.One("to", &d.settings.To, schema.Address()).Otherwise("none"),
		schema.One("port", &d.settings.Port, schema.Port()).Otherwise("the flow's own"),
	}
}

// Finish implements nf.Draft.
func (d *draft) Finish(s *schema.Given) nf.Settings {
	s.Needs("to")
	return d.settings
}

// TargetLines implements nf.TargetLines.
func (d *draft) TargetLines(s *schema.Given) []schema.At[string] {
	line, _ := s.Has("to")
	return []schema.At[string]{{Value: "to", Line: line}}
}

// Targets implements nf.Sender.
func (s Settings) Targets() []netip.Addr { return []netip.Addr{s.To} }

// Function implements nf.Settings.
func (s Settings) Function(string, nf.Names) nf.Function { return Dnat{Address: s.To, Port: s.Port} }
