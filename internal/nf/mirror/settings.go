package mirror

import (
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "mirror", New: func(string) nf.Draft { return Mirror{} }}

// Keys implements nf.Draft: it has none.
func (Mirror) Keys() []schema.Key { return nil }

// Finish implements nf.Draft.
func (m Mirror) Finish(*schema.Given) nf.Settings { return m }

// Copies implements nf.Copier.
func (Mirror) Copies() bool { return true }

// Function implements nf.Settings.
func (m Mirror) Function(string, nf.Names) nf.Function { return m }
