package schema

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Kind is one type of value: how it is named, bounded, read and shown. An error
// of parse is a hint added to the message; it may be empty text.
type Kind[T any] struct {
	Name    string   // in the reference
	Allowed string   // in the reference
	Want    string   // in errors: "want …, not …"
	Tags    []string // YAML types it may have
	Parse   func(text string) (T, error)
	Show    func(T) string
	Words   []string // of which it is one, nil for others
	Open    bool     // there are others than Words
	Bounds  *Bounds  // of a number
}

var (
	// TextTag is the YAML type of a text.
	TextTag   = []string{"!!str"}
	numberTag = []string{"!!int"}

	// ErrNoHint is for values where naming what is wanted says it all.
	ErrNoHint = errors.New("")
)

// Duration is a time with its unit, least to most.
func Duration(least, most time.Duration) Kind[time.Duration] {
	bounds := ShowDuration(least) + " to " + ShowDuration(most)
	return Kind[time.Duration]{
		Name: "duration", Allowed: bounds, Want: "a duration of " + bounds,
		Tags: []string{"!!str", "!!int"}, // 0 needs no unit
		Show: ShowDuration,
		Parse: func(text string) (time.Duration, error) {
			d, err := time.ParseDuration(text)
			if _, numeric := strconv.ParseFloat(text, 64); err != nil && numeric == nil {
				return 0, errors.New("add a unit: ms, s, m or h")
			}
			if err != nil || d < least || d > most {
				return 0, ErrNoHint
			}
			return d, nil
		},
	}
}

// ShowDuration writes whole seconds where it can: 7440s, not 2h4m0s.
func ShowDuration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

// Number is a whole number, least to most.
func Number(least, most int) Kind[int] {
	bounds := fmt.Sprintf("%d to %d", least, most)
	return Kind[int]{
		Name: "number", Allowed: bounds, Want: "a whole number of " + bounds, Tags: numberTag, Bounds: &Bounds{float64(least), float64(most)},
		Show: strconv.Itoa,
		Parse: func(text string) (int, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < least || n > most || strconv.Itoa(n) != text {
				return 0, ErrNoHint
			}
			return n, nil
		},
	}
}

// Boolean is yes or no.
func Boolean() Kind[bool] {
	return Kind[bool]{
		Name: "boolean", Allowed: "true or false", Want: "true or false", Tags: []string{"!!bool"},
		Show: strconv.FormatBool,
		Parse: func(text string) (bool, error) {
			value, err := strconv.ParseBool(strings.ToLower(text)) // as the tag has it: also True and TRUE
			return value, err
		},
	}
}

// Port is a TCP or UDP port that can be reached.
func Port() Kind[uint16] {
	n := Number(1, 65535)
	return Kind[uint16]{
		Name: "port", Allowed: n.Allowed, Want: "a port of " + n.Allowed, Tags: numberTag, Bounds: n.Bounds,
		Show: func(p uint16) string { return strconv.Itoa(int(p)) },
		Parse: func(text string) (uint16, error) {
			p, err := n.Parse(text)
			return uint16(p), err //nolint:gosec // n.parse keeps it within 1 to 65535
		},
	}
}

// Choice is one of a few values, by their words.
func Choice[T fmt.Stringer](values ...T) Kind[T] { return choice(T.String, values) }

// OneOf is one of a few words.
func OneOf(words ...string) Kind[string] {
	return choice(func(word string) string { return word }, words)
}

func choice[T any](show func(T) string, values []T) Kind[T] {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = show(v)
	}
	last := len(words) - 1
	list := words[last]
	if last > 0 {
		list = strings.Join(words[:last], ", ") + " or " + list
	}
	return Kind[T]{
		Name: "word", Allowed: list, Want: list, Tags: TextTag, Words: words,
		Show: show,
		Parse: func(text string) (T, error) {
			if i := slices.Index(words, text); i >= 0 {
				return values[i], nil
			}
			return values[0], ErrNoHint
		},
	}
}

// Domain is a domain name; the final dot may be left out.
func Domain() Kind[model.Name] {
	return Kind[model.Name]{
		Name: "name", Allowed: "domain name", Want: "a domain name", Tags: TextTag,
		Show: model.Name.String,
		Parse: func(text string) (model.Name, error) {
			if len(text) > 254 { // with a final dot; here so that no hint quotes it all
				return "", errors.New("it is longer than 255 octets")
			}
			return model.ParseName(text)
		},
	}
}

// Pattern is a domain name, or a wildcard for the names below one.
func Pattern() Kind[model.Name] {
	k := Domain()
	plain := k.Parse
	k.Allowed = "domain name, or *. before one"
	k.Parse = func(text string) (model.Name, error) {
		if !strings.HasPrefix(text, "*.") || len(text) > 254 {
			return plain(text)
		}
		return model.ParsePattern(text)
	}
	return k
}

// Device is the name of a network interface, as the kernel allows it.
func Device() Kind[string] {
	return Kind[string]{
		Name: "interface", Allowed: "1 to 15 characters", Tags: TextTag,
		Want: `an interface name of 1 to 15 characters without "/", ":" and spaces`,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' || r == ':' }
			if text == "" || len(text) > 15 || text == "." || text == ".." || strings.ContainsFunc(text, bad) {
				return "", ErrNoHint
			}
			return text, nil
		},
	}
}

// Address is an IPv4 address that one machine can have.
func Address() Kind[netip.Addr] {
	return Kind[netip.Addr]{
		Name: "address", Allowed: "IPv4 address", Want: "an IPv4 address", Tags: TextTag,
		Show: netip.Addr.String, Parse: parseAddress,
	}
}

func parseAddress(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() {
		return netip.Addr{}, ErrNoHint
	}
	return addr, CheckUnicast(addr)
}

// CheckUnicast refuses what no machine on a network can have: the ranges of RFC
// 6890 for this host, loopback, link-local, multicast and reserved use.
func CheckUnicast(addr netip.Addr) error {
	first := addr.As4()[0]
	if first == 0 || first >= 224 || addr.IsLoopback() || addr.IsLinkLocalUnicast() {
		return fmt.Errorf("%s is not the address of a machine on a network", addr)
	}
	return nil
}

// AddressPort is an IPv4 address with a port, 53 unless given. Loopback is
// allowed where another program of this machine is meant.
func AddressPort(loopback bool) Kind[netip.AddrPort] {
	return Kind[netip.AddrPort]{
		Name: "address:port", Allowed: "IPv4 address, port 53 unless given", Tags: TextTag,
		Want: "an IPv4 address, with a port (address:port) or without (53)",
		Show: netip.AddrPort.String,
		Parse: func(text string) (netip.AddrPort, error) {
			if !strings.Contains(text, ":") {
				text += ":53"
			}
			ap, err := netip.ParseAddrPort(text)
			if err != nil || !ap.Addr().Is4() || ap.Port() == 0 {
				return netip.AddrPort{}, ErrNoHint
			}
			if loopback && ap.Addr().IsLoopback() {
				return ap, nil
			}
			return ap, CheckUnicast(ap.Addr())
		},
	}
}

// Endpoint is an address of this machine, of IPv4 or IPv6, with a port.
func Endpoint() Kind[netip.AddrPort] {
	return Kind[netip.AddrPort]{
		Name: "address:port", Allowed: "IPv4 address:port, or [IPv6 address]:port", Tags: TextTag,
		Want: "an address with a port, as 127.0.0.1:9470 or [2001:db8::1]:9470",
		Show: netip.AddrPort.String,
		Parse: func(text string) (netip.AddrPort, error) {
			ap, err := netip.ParseAddrPort(text)
			if err != nil || ap.Port() == 0 || ap.Addr().Is4In6() {
				return netip.AddrPort{}, ErrNoHint
			}
			if ap.Addr().IsUnspecified() || ap.Addr().IsMulticast() {
				return ap, fmt.Errorf("%s is not one address of this machine", ap.Addr())
			}
			return ap, nil
		},
	}
}

// IsHex reports whether it is a hexadecimal digit.
func IsHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// Ratio is a number with decimals, least to most.
func Ratio(least, most float64) Kind[float64] {
	bounds := fmt.Sprintf("%s to %s, as 2 or 1.5", ShowRatio(least), ShowRatio(most))
	return Kind[float64]{
		Name: "number", Allowed: bounds, Want: "a number of " + bounds, Tags: []string{"!!int", "!!float"}, Bounds: &Bounds{least, most},
		Show: ShowRatio,
		Parse: func(text string) (float64, error) {
			n, err := strconv.ParseFloat(text, 64)
			// Digits alone: no exponents, no hexadecimal digits, no "inf".
			if err != nil || strings.Trim(text, "0123456789.") != "" || !(n >= least && n <= most) {
				return 0, ErrNoHint
			}
			return n, nil
		},
	}
}

// ShowRatio writes all decimals and no more.
func ShowRatio(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// IsLetter reports whether it is one of English.
func IsLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
