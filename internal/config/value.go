package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// kind is one type of value: how it is named, bounded, read and shown. An error
// of parse is a hint added to the message; it may be empty text.
type kind[T any] struct {
	name    string   // in the reference
	allowed string   // in the reference
	want    string   // in errors: "want …, not …"
	tags    []string // YAML types it may have
	parse   func(text string) (T, error)
	show    func(T) string
}

var (
	textTag   = []string{"!!str"}
	numberTag = []string{"!!int"}

	// errNoHint is for values where naming what is wanted says it all.
	errNoHint = errors.New("")
)

// duration is a time with its unit, least to most.
func duration(least, most time.Duration) kind[time.Duration] {
	bounds := showDuration(least) + " to " + showDuration(most)
	return kind[time.Duration]{
		name: "duration", allowed: bounds, want: "a duration of " + bounds,
		tags: []string{"!!str", "!!int"}, // 0 needs no unit
		show: showDuration,
		parse: func(text string) (time.Duration, error) {
			d, err := time.ParseDuration(text)
			if _, numeric := strconv.ParseFloat(text, 64); err != nil && numeric == nil {
				return 0, errors.New("add a unit: ms, s, m or h")
			}
			if err != nil || d < least || d > most {
				return 0, errNoHint
			}
			return d, nil
		},
	}
}

// showDuration writes whole seconds where it can: 7440s, not 2h4m0s.
func showDuration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

// number is a whole number, least to most.
func number(least, most int) kind[int] {
	bounds := fmt.Sprintf("%d to %d", least, most)
	return kind[int]{
		name: "number", allowed: bounds, want: "a whole number of " + bounds, tags: numberTag,
		show: strconv.Itoa,
		parse: func(text string) (int, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < least || n > most || strconv.Itoa(n) != text {
				return 0, errNoHint
			}
			return n, nil
		},
	}
}

// boolean is yes or no.
func boolean() kind[bool] {
	return kind[bool]{
		name: "boolean", allowed: "true or false", want: "true or false", tags: []string{"!!bool"},
		show: strconv.FormatBool,
		parse: func(text string) (bool, error) {
			value, err := strconv.ParseBool(strings.ToLower(text)) // as the tag has it: also True and TRUE
			return value, err
		},
	}
}

// port is a TCP or UDP port that can be reached.
func port() kind[uint16] {
	n := number(1, 65535)
	return kind[uint16]{
		name: "port", allowed: n.allowed, want: "a port of " + n.allowed, tags: numberTag,
		show: func(p uint16) string { return strconv.Itoa(int(p)) },
		parse: func(text string) (uint16, error) {
			p, err := n.parse(text)
			return uint16(p), err //nolint:gosec // n.parse keeps it within 1 to 65535
		},
	}
}

// choice is one of a few words.
func choice[T fmt.Stringer](values ...T) kind[T] {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.String()
	}
	last := len(words) - 1
	list := words[last]
	if last > 0 {
		list = strings.Join(words[:last], ", ") + " or " + list
	}
	return kind[T]{
		name: "word", allowed: list, want: list, tags: textTag,
		show: func(v T) string { return v.String() },
		parse: func(text string) (T, error) {
			for i, word := range words {
				if text == word {
					return values[i], nil
				}
			}
			return values[0], errNoHint
		},
	}
}

// domain is a domain name; the final dot may be left out.
func domain() kind[model.Name] {
	return kind[model.Name]{
		name: "name", allowed: "domain name", want: "a domain name", tags: textTag,
		show: model.Name.String,
		parse: func(text string) (model.Name, error) {
			if len(text) > 254 { // with a final dot; here so that no hint quotes it all
				return "", errors.New("it is longer than 255 octets")
			}
			return model.ParseName(text)
		},
	}
}

// pattern is a domain name, or a wildcard for the names below one.
func pattern() kind[model.Name] {
	k := domain()
	plain := k.parse
	k.allowed = "domain name, or *. before one"
	k.parse = func(text string) (model.Name, error) {
		if !strings.HasPrefix(text, "*.") || len(text) > 254 {
			return plain(text)
		}
		return model.ParsePattern(text)
	}
	return k
}

// device is the name of a network interface, as the kernel allows it.
func device() kind[string] {
	return kind[string]{
		name: "interface", allowed: "1 to 15 characters", tags: textTag,
		want: `an interface name of 1 to 15 characters without "/", ":" and spaces`,
		show: func(s string) string { return s },
		parse: func(text string) (string, error) {
			bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' || r == ':' }
			if text == "" || len(text) > 15 || text == "." || text == ".." || strings.ContainsFunc(text, bad) {
				return "", errNoHint
			}
			return text, nil
		},
	}
}

// address is an IPv4 address that one machine can have.
func address() kind[netip.Addr] {
	return kind[netip.Addr]{
		name: "address", allowed: "IPv4 address", want: "an IPv4 address", tags: textTag,
		show: netip.Addr.String, parse: parseAddress,
	}
}

func parseAddress(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() {
		return netip.Addr{}, errNoHint
	}
	return addr, checkUnicast(addr)
}

// checkUnicast refuses what no machine on a network can have: the ranges of RFC
// 6890 for this host, loopback, link-local, multicast and reserved use.
func checkUnicast(addr netip.Addr) error {
	first := addr.As4()[0]
	if first == 0 || first >= 224 || addr.IsLoopback() || addr.IsLinkLocalUnicast() {
		return fmt.Errorf("%s is not the address of a machine on a network", addr)
	}
	return nil
}

// addressPort is an IPv4 address with a port, 53 unless given. Loopback is
// allowed where another program of this machine is meant.
func addressPort(loopback bool) kind[netip.AddrPort] {
	return kind[netip.AddrPort]{
		name: "address:port", allowed: "IPv4 address, port 53 unless given", tags: textTag,
		want: "an IPv4 address, with a port (address:port) or without (53)",
		show: netip.AddrPort.String,
		parse: func(text string) (netip.AddrPort, error) {
			if !strings.Contains(text, ":") {
				text += ":53"
			}
			ap, err := netip.ParseAddrPort(text)
			if err != nil || !ap.Addr().Is4() || ap.Port() == 0 {
				return netip.AddrPort{}, errNoHint
			}
			if loopback && ap.Addr().IsLoopback() {
				return ap, nil
			}
			return ap, checkUnicast(ap.Addr())
		},
	}
}
