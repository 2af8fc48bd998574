package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
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

func (b *backendDraft) keys() []key {
	b.backend.Weight = 1
	return []key{
		oneAt("to", &b.backend.To, &b.line, address()).must(),
		one("port", &b.backend.Port, port()).otherwise("the flow's own"),
		one("weight", &b.backend.Weight, number(1, mostWeight)),
	}
}

func (c *Check) keys() []key {
	*c = standardCheck
	return []key{
		one("http", &c.HTTP, webPath()).otherwise("none: a TCP connection is all"),
		one("port", &c.Port, port()).otherwise("the backend's"),
		one("every", &c.Every, duration(100*time.Millisecond, time.Hour)),
		one("timeout", &c.Timeout, duration(10*time.Millisecond, time.Minute)),
		one("fall", &c.Fall, number(1, mostAnswers)),
		one("rise", &c.Rise, number(1, mostAnswers)),
	}
}

// webPath is what a GET asks for.
func webPath() kind[string] {
	return kind[string]{
		name: "path", allowed: "as /health", want: "a path as /health", tags: textTag,
		show: func(s string) string { return s },
		parse: func(text string) (string, error) {
			bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }
			switch {
			case len(text) > longestPath:
				return "", fmt.Errorf("it is longer than %d bytes", longestPath)
			case !strings.HasPrefix(text, "/") || strings.ContainsFunc(text, bad):
				return "", errNoHint
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
func (f *functionDraft) checkMultipath(faults *faultLog, path string) {
	m := &f.function.Multipath
	line, given := f.gave("backends")
	if len(f.backends) == 0 && given {
		faults.add(line, "%s.backends: want 1 to %d entries, not none", path, mostBackends)
	}
	if !given {
		faults.add(line, "%s: the key backends is missing", path)
	}
	if len(f.backends) > mostBackends {
		faults.add(line, "%s.backends: there are %d, at most %d are allowed", path, len(f.backends), mostBackends)
		return
	}
	checkLine, checked := f.gave("check")
	if m.Checked = checked; !checked {
		m.Check = Check{}
	}
	if checked && m.Check.Timeout > m.Check.Every {
		faults.add(checkLine, "%s.check.timeout: %s is longer than every, %s", path, showDuration(m.Check.Timeout), showDuration(m.Check.Every))
	}
	first := map[netip.AddrPort]int{}
	// Of those without a line it is already said what is wrong.
	f.backends = slices.DeleteFunc(f.backends, func(b *backendDraft) bool { return b.line == 0 })
	for i, b := range f.backends {
		m.Backends = append(m.Backends, b.backend)
		endpoint := netip.AddrPortFrom(b.backend.To, b.backend.Port)
		if before, twice := first[endpoint]; twice {
			faults.add(b.line, "%s.backends[%d]: it is the same as the one at line %d: give one of them more weight", path, i, before)
			continue
		}
		first[endpoint] = b.line
		if checked && b.backend.Port == 0 && m.Check.Port == 0 {
			faults.add(b.line, "%s.backends[%d]: which port is to be checked? Give port here, or in check", path, i)
		}
	}
}
