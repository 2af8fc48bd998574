package multipath

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "multipath", New: func(string) nf.Draft { return &draft{} }}

// Settings are the backends that flows from outside go to.
type Settings struct {
	Backends []Backend // 1 to 64, no two the same
	Checked  bool      // whether they answer is looked after, as Check says; else all are up
	Check    Check
}

// Check says how backends are asked whether they are up.
type Check struct {
	HTTP    string // the path of a GET; "": a TCP connection is all
	Port    uint16 // 0: the backend's
	Every   time.Duration
	Timeout time.Duration // at most Every
	Fall    int           // bad answers in a row that bring one down
	Rise    int           // good ones that bring it up
}

const (
	mostWeight  = 100
	mostAnswers = 100
)

// standardCheck is a check that the file says nothing else of.
var standardCheck = Check{Every: 5 * time.Second, Timeout: time.Second, Fall: 3, Rise: 2}

type backendDraft struct {
	backend Backend
	line    int // of `to`; 0: it is missing or wrong, which has been told
}

func (b *backendDraft) keys() []schema.Key {
	b.backend.Weight = 1
	return []schema.Key{
		schema.OneAt("to", &b.backend.To, &b.line, schema.Address()).Must(),
		schema.One("port", &b.backend.Port, schema.Port()).Otherwise("the flow's own"),
		schema.One("weight", &b.backend.Weight, schema.Number(1, mostWeight)),
	}
}

func (c *Check) keys() []schema.Key {
	*c = standardCheck
	return []schema.Key{
		schema.One("http", &c.HTTP, webPath()).Otherwise("none: a TCP connection is all"),
		schema.One("port", &c.Port, schema.Port()).Otherwise("the backend's"),
		schema.One("every", &c.Every, schema.Duration(100*time.Millisecond, time.Hour)),
		schema.One("timeout", &c.Timeout, schema.Duration(10*time.Millisecond, time.Minute)),
		schema.One("fall", &c.Fall, schema.Number(1, mostAnswers)),
		schema.One("rise", &c.Rise, schema.Number(1, mostAnswers)),
	}
}

type draft struct {
	settings Settings
	backends []*backendDraft
}

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	return []schema.Key{
		schema.ListOf("backends", &d.backends, (*backendDraft).keys).Most(MostBackends),
		schema.Section("check", d.settings.Check.keys()...),
	}
}

// Finish implements nf.Draft.
func (d *draft) Finish(s *schema.Given) nf.Settings {
	d.check(s)
	return d.settings
}

// TargetLines implements nf.TargetLines.
func (d *draft) TargetLines(*schema.Given) (list []schema.At[string]) {
	for i, b := range d.backends {
		if b.line == 0 {
			continue
		}
		list = append(list, schema.At[string]{Value: fmt.Sprintf("backends[%d].to", i), Line: b.line})
	}
	return list
}

// Targets implements nf.Sender.
func (s Settings) Targets() (list []netip.Addr) {
	for _, b := range s.Backends {
		list = append(list, b.To)
	}
	return list
}

// Function implements nf.Settings. The daemon keeps paths, as they are of all generations.
func (s Settings) Function(name string, n nf.Names) nf.Function {
	paths, _ := n.Kept(name).(*Paths)
	return Multipath{Paths: paths}
}

// check takes the backends, and says what contradicts itself.
func (d *draft) check(s *schema.Given) {
	m := &d.settings
	line, given := s.Has("backends")
	if len(d.backends) == 0 && given {
		s.Add(line, "%s.backends: want 1 to %d entries, not none", s.Path, MostBackends)
	}
	if !given {
		s.Add(line, "%s: the key backends is missing", s.Path)
	}
	checkLine, checked := s.Has("check")
	if m.Checked = checked; !checked {
		m.Check = Check{}
	}
	if checked && m.Check.Timeout > m.Check.Every {
		s.Add(checkLine, "%s.check.timeout: %s is longer than every, %s", s.Path, schema.ShowDuration(m.Check.Timeout), schema.ShowDuration(m.Check.Every))
	}
	first := map[netip.AddrPort]int{}
	for i, b := range d.backends {
		if b.line == 0 {
			continue
		}
		m.Backends = append(m.Backends, b.backend)
		endpoint := netip.AddrPortFrom(b.backend.To, b.backend.Port)
		if before, twice := first[endpoint]; twice {
			s.Add(b.line, "%s.backends[%d]: it is the same as the one at line %d: give one of them more weight", s.Path, i, before)
			continue
		}
		first[endpoint] = b.line
		if checked && b.backend.Port == 0 && m.Check.Port == 0 {
			s.Add(b.line, "%s.backends[%d]: which port is to be checked? Give port here, or in check", s.Path, i)
		}
	}
}
