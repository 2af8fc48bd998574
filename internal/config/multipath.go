package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

// Multipath sends flows from outside to one of several private endpoints.
type Multipath struct {
	Backends []Backend // 1 to 64, no two the same
	Checked  bool      // whether they answer is looked after, as Check says; else all are up
	Check    Check
}

// Backend is a private endpoint.
type Backend struct {
	To     netip.Addr
	Port   uint16 // 0: the flow's own
	Weight int    // 1 to 100
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
	mostBackends = 64 // bpf/nf/multipath.bpf.c
	mostWeight   = 100
	mostAnswers  = 100
	longestPath  = 1024 // bytes
)

// standardCheck is a check that the file says nothing else of.
var standardCheck = Check{Every: 5 * time.Second, Timeout: time.Second, Fall: 3, Rise: 2}

type backendDraft struct {
	backend Backend
	line    int // of `to`
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

// webPath is what a GET asks for.
func webPath() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "path", Allowed: "as /health", Want: "a path as /health", Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }
			switch {
			case len(text) > longestPath:
				return "", fmt.Errorf("it is longer than %d bytes", longestPath)
			case !strings.HasPrefix(text, "/") || strings.ContainsFunc(text, bad):
				return "", schema.ErrNoHint
			case !validEscapes(text):
				return "", errors.New("a % is followed by two hexadecimal digits")
			}
			return text, nil
		},
	}
}

// validEscapes reports whether each percent sign begins an escape (RFC 3986 section 2.1).
func validEscapes(path string) bool {
	for i := range len(path) {
		if path[i] == '%' && (i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2])) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// checkMultipath takes the backends, and says what contradicts itself.
func (f *functionDraft) checkMultipath(faults *schema.Faults, path string) {
	m := &f.function.Multipath
	line, given := f.gave("backends")
	if len(f.backends) == 0 && given {
		faults.Add(line, "%s.backends: want 1 to %d entries, not none", path, mostBackends)
	}
	if !given {
		faults.Add(line, "%s: the key backends is missing", path)
	}
	if len(f.backends) > mostBackends {
		faults.Add(line, "%s.backends: there are %d, at most %d are allowed", path, len(f.backends), mostBackends)
		return
	}
	checkLine, checked := f.gave("check")
	if m.Checked = checked; !checked {
		m.Check = Check{}
	}
	if checked && m.Check.Timeout > m.Check.Every {
		faults.Add(checkLine, "%s.check.timeout: %s is longer than every, %s", path, schema.ShowDuration(m.Check.Timeout), schema.ShowDuration(m.Check.Every))
	}
	first := map[netip.AddrPort]int{}
	// Of those without a line it is already said what is wrong.
	f.backends = slices.DeleteFunc(f.backends, func(b *backendDraft) bool { return b.line == 0 })
	for i, b := range f.backends {
		m.Backends = append(m.Backends, b.backend)
		endpoint := netip.AddrPortFrom(b.backend.To, b.backend.Port)
		if before, twice := first[endpoint]; twice {
			faults.Add(b.line, "%s.backends[%d]: it is the same as the one at line %d: give one of them more weight", path, i, before)
			continue
		}
		first[endpoint] = b.line
		if checked && b.backend.Port == 0 && m.Check.Port == 0 {
			faults.Add(b.line, "%s.backends[%d]: which port is to be checked? Give port here, or in check", path, i)
		}
	}
}
