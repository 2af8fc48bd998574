package ratelimit

import (
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "rate-limit", New: func(string) nf.Draft { return &draft{} }}

// Settings are how much is let through.
type Settings struct {
	New     bool // new sessions are counted, and not packets or bytes
	Rate    meter.Rate
	Burst   time.Duration
	Per     meter.Per // meter.PerSource, meter.PerHost or meter.PerService
	Entries int
}

type draft struct{ settings Settings }

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	s := &d.settings
	s.Per = meter.PerSource
	return []schema.Key{
		schema.One("new", &s.Rate, meter.Amount(false, true)).Otherwise("none"),
		schema.One("packets", &s.Rate, meter.Amount(false, true)).Otherwise("none"),
		schema.One("bytes", &s.Rate, meter.Amount(true, false)).Otherwise("none"),
		meter.BurstKey(&s.Burst),
		schema.One("per", &s.Per, schema.Choice(meter.PerSource, meter.PerHost, meter.PerService)),
		meter.EntriesKey(&s.Entries),
	}
}

// Finish implements nf.Draft.
func (d *draft) Finish(g *schema.Given) nf.Settings {
	ways, count := []string{"new", "packets", "bytes"}, 0
	for _, way := range ways {
		if _, given := g.Has(way); given {
			d.settings.New = way == "new"
			count++
		}
	}
	if count != 1 {
		g.Add(g.Line, "%s: give one of %s", g.Path, strings.Join(ways, ", "))
	}
	meter.CheckBurst(g, d.settings.Rate, d.settings.Burst)
	return d.settings
}

// Function implements nf.Settings.
func (s Settings) Function(string, nf.Names) nf.Function {
	m := meter.Meter{Per: s.Per, Unit: meter.UnitOf(s.Rate), Rate: s.Rate.Second, Burst: s.Burst, Entries: s.Entries}
	if s.New {
		m.Unit = meter.Sessions
	}
	return RateLimit{Meter: m}
}
