package dosdenial

import (
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "dos-denial", New: func(string) nf.Draft { return &draft{} }}

// Settings are how fast packets may come.
type Settings struct {
	Mode    Mode
	Rate    meter.Rate
	Window  time.Duration // 0: a token bucket, which has Burst
	Burst   time.Duration
	Per     meter.Per // meter.PerFlow or meter.PerSource
	Entries int
}

// Mode is how packets are counted.
type Mode uint8

// The modes.
const (
	ModeWindow Mode = iota // too much in one window: the next is dropped whole
	ModeBucket
	ModeSYN // a token bucket of TCP's SYNs
)

// String returns the word of the configuration.
func (m Mode) String() string {
	return schema.Word(int(m), "mode", "window", "token-bucket", "syn-rate")
}

const defaultWindow = 10 * time.Second // Hanna's

type draft struct{ settings Settings }

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	s := &d.settings
	s.Window = defaultWindow
	return []schema.Key{
		schema.One("threshold", &s.Rate, meter.Amount(true, true)).Otherwise("none"),
		schema.One("mode", &s.Mode, schema.Choice(ModeWindow, ModeBucket, ModeSYN)),
		schema.One("window", &s.Window, schema.Duration(100*time.Millisecond, time.Hour)),
		meter.BurstKey(&s.Burst),
		schema.One("per", &s.Per, schema.Choice(meter.PerFlow, meter.PerSource)).Otherwise("flow, and source for syn-rate"),
		meter.EntriesKey(&s.Entries),
	}
}

// Finish implements nf.Draft.
func (d *draft) Finish(g *schema.Given) nf.Settings {
	s := &d.settings
	g.Needs("threshold")
	line, _ := g.Has("threshold")
	if s.Mode == ModeSYN && s.Rate.Bytes {
		g.Add(line, "%s.threshold: SYNs are counted: want a rate as 100/s", g.Path)
	}
	if line, given := g.Has("window"); given && s.Mode != ModeWindow {
		g.Add(line, "%s.window: %s has none: it has burst", g.Path, s.Mode)
	}
	if line, given := g.Has("burst"); given && s.Mode == ModeWindow {
		g.Add(line, "%s.burst: mode window has none: it has window", g.Path)
	}
	if _, given := g.Has("per"); !given && s.Mode == ModeSYN {
		s.Per = meter.PerSource
	}
	if s.Mode == ModeWindow {
		s.Burst = 0
		return *s
	}
	s.Window = 0
	meter.CheckBurst(g, s.Rate, s.Burst)
	return *s
}

// Function implements nf.Settings.
func (s Settings) Function(string, nf.Names) nf.Function {
	m := meter.Meter{Per: s.Per, Unit: meter.UnitOf(s.Rate), Rate: s.Rate.Second, Window: s.Window, Burst: s.Burst, Entries: s.Entries}
	if s.Mode == ModeSYN {
		m.Unit = meter.SYNs
	}
	return DoSDenial{Meter: m}
}
