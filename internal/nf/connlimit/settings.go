package connlimit

import (
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "connlimit", New: func(string) nf.Draft { return &draft{} }}

// Settings are how many connections a source may have open.
type Settings struct {
	Connections int
	Idle        time.Duration
	Entries     int
}

type draft struct{ settings Settings }

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	s := &d.settings
	s.Idle, s.Entries = 5*time.Minute, 4096
	return []schema.Key{
		schema.One("connections", &s.Connections, schema.Number(1, most)).Otherwise("none"),
		schema.One("idle", &s.Idle, schema.Duration(time.Second, 24*time.Hour)),
		schema.One("entries", &s.Entries, schema.Number(1024, 1<<20)),
	}
}

// Finish implements nf.Draft.
func (d *draft) Finish(s *schema.Given) nf.Settings {
	s.Needs("connections")
	return d.settings
}

// Function implements nf.Settings.
func (s Settings) Function(string, nf.Names) nf.Function { return ConnLimit(s) }
