package schema

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"

	"github.com/realmgate/realmgate/internal/model"
)

// external is an address, a prefix or a range of IPv4 addresses, which is counted before anything expands it, or the
// interface that has them.
type external struct {
	span   netipx.IPRange
	device string
}

func (e external) String() string {
	switch prefix, whole := e.span.Prefix(); {
	case e.device != "":
		return e.device
	case whole && prefix.IsSingleIP():
		return prefix.Addr().String()
	case whole:
		return prefix.String()
	}
	return e.span.String()
}

// Externals are addresses outside, and interfaces whose addresses are meant.
type Externals struct {
	path    string
	most    int // addresses
	entries []At[external]
}

// Key is the key that gives them, which stands at path.
func (e *Externals) Key(name, path string, most, least int) Key {
	e.path, e.most = path, most
	return Many(name, &e.entries, externals(most), least)
}

// Line is that of the first entry, 0 where there is none.
func (e *Externals) Line() int {
	if len(e.entries) == 0 {
		return 0
	}
	return e.entries[0].Line
}

// Claim parts addresses from interfaces, which are outside and listed once, and notes what the addresses are for.
func (e *Externals) Claim(faults *Faults, uses Uses, private func(device string) bool) (addresses []netip.Addr, interfaces []At[string]) {
	var named []At[netipx.IPRange]
	once := Once[string]{}
	for _, entry := range e.entries {
		name := entry.Value.device
		switch {
		case name == "":
			named = append(named, At[netipx.IPRange]{entry.Value.span, entry.Line})
		case private(name):
			faults.Add(entry.Line, "%s: %s is in interfaces.private: name a public interface", e.path, name)
		case once.Take(faults, e.path, name, entry.Line):
			interfaces = append(interfaces, At[string]{name, entry.Line})
		}
	}
	return e.expand(faults, named, uses), interfaces
}

// expand lists the addresses of the spans.
func (e *Externals) expand(faults *Faults, spans []At[netipx.IPRange], uses Uses) (addresses []netip.Addr) {
	for _, entry := range spans {
		if total := len(addresses) + count(entry.Value); total > e.most {
			faults.Add(entry.Line, "%s: up to this entry there are %d addresses, at most %d are allowed", e.path, total, e.most)
			return nil
		}
		for addr := entry.Value.From(); entry.Value.Contains(addr); addr = addr.Next() {
			if !uses.Take(faults, addr, Use{Key: e.path, Line: entry.Line, Joint: true}) {
				break // one error per entry says enough
			}
			addresses = append(addresses, addr)
		}
	}
	return addresses
}

func count(span netipx.IPRange) int {
	return int(model.AddressNumber(span.To())) - int(model.AddressNumber(span.From())) + 1
}

// externals is an address, a prefix, a range or an interface.
func externals(most int) Kind[external] {
	const want = "an IPv4 address, prefix (198.18.0.32/28) or range (198.18.0.32-198.18.0.47)"
	devices := Device()
	return Kind[external]{
		Name: "address, prefix, range or interface", Allowed: fmt.Sprintf("at most %d addresses in all", most), Tags: TextTag,
		Want: want + ", or an interface (eth0)", Show: external.String,
		Parse: func(text string) (external, error) {
			if strings.ContainsFunc(text, IsLetter) && !strings.ContainsAny(text, ":/") {
				name, err := devices.Parse(text)
				return external{device: name}, err
			}
			s, err := parseSpan(text)
			if err != nil {
				return external{}, err
			}
			if n := count(s); n > most {
				return external{}, fmt.Errorf("it has %d addresses, at most %d are allowed", n, most)
			}
			// The narrowest special range is a /16, so no span of 65536 addresses
			// can hide one between two good ends.
			for _, addr := range []netip.Addr{s.From(), s.To()} {
				if err := CheckUnicast(addr); err != nil {
					return external{}, err
				}
			}
			return external{span: s}, nil
		},
	}
}

func parseSpan(text string) (netipx.IPRange, error) {
	if strings.Contains(text, "/") {
		prefix, err := parsePrefix(text)
		if err != nil {
			return netipx.IPRange{}, err
		}
		return netipx.RangeOfPrefix(prefix), nil
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, err := netip.ParseAddr(strings.TrimSpace(from))
	if err != nil || !first.Is4() {
		return netipx.IPRange{}, ErrNoHint
	}
	last, err := netip.ParseAddr(strings.TrimSpace(to))
	if err != nil || !last.Is4() {
		return netipx.IPRange{}, ErrNoHint
	}
	if last.Less(first) {
		return netipx.IPRange{}, errors.New("the range ends before it begins")
	}
	return netipx.IPRangeFrom(first, last), nil
}
