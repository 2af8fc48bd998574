package filter

import (
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/match"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "filter", New: func(string) nf.Draft { return &draft{} }}

// Settings are what flows it drops, and which ones alone it lets through unless Allow is empty.
type Settings struct{ Deny, Allow []match.Condition }

type draft struct {
	settings Settings
	sets     []schema.Named
}

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	return []schema.Key{match.Conditions("deny", &d.settings.Deny, &d.sets), match.Conditions("allow", &d.settings.Allow, &d.sets)}
}

// Sets implements nf.SetUser.
func (d *draft) Sets() []schema.Named { return d.sets }

// Finish implements nf.Draft.
func (d *draft) Finish(*schema.Given) nf.Settings { return d.settings }

// Function implements nf.Settings.
func (s Settings) Function(_ string, n nf.Names) nf.Function {
	return Filter{Deny: match.Rules(s.Deny, n), Allow: match.Rules(s.Allow, n)}
}
