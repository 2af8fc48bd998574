package jump

import (
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/match"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "jump", New: func(string) nf.Draft { return &draft{} }}

// Settings are the chain that flows go on in, and which ones; without When all.
type Settings struct {
	To   string
	When []match.Condition
}

type draft struct {
	settings Settings
	sets     []schema.Named
}

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	return []schema.Key{
		schema.One("chain", &d.settings.To, schema.Label()).Otherwise("none"),
		match.Conditions("when", &d.settings.When, &d.sets),
	}
}

// Sets implements nf.SetUser.
func (d *draft) Sets() []schema.Named { return d.sets }

// Finish implements nf.Draft.
func (d *draft) Finish(s *schema.Given) nf.Settings {
	s.Needs("chain")
	return d.settings
}

// Chain implements nf.Jumper.
func (d *draft) Chain() string { return d.settings.To }

// Chain implements nf.Jumper.
func (s Settings) Chain() string { return s.To }

// Function implements nf.Settings.
func (s Settings) Function(_ string, n nf.Names) nf.Function {
	return Jump{When: match.Rules(s.When, n)}
}
