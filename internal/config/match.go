package config

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// label is a name of a chain or a function.
func label() kind[string] {
	return kind[string]{
		name: "word", allowed: "1 to 32 of a-z, 0-9 and -", want: "a name of 1 to 32 letters a-z, digits and hyphens", tags: textTag,
		show: func(s string) string { return s },
		parse: func(text string) (string, error) {
			const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
			bad := func(r rune) bool { return !strings.ContainsRune(letters, r) }
			if text == "" || len(text) > 32 || strings.ContainsFunc(text, bad) {
				return "", errNoHint
			}
			return text, nil
		},
	}
}

// network is an IPv4 address or prefix, also one that no machine can have.
func network() kind[netip.Prefix] {
	return kind[netip.Prefix]{
		name: "address or prefix", allowed: "IPv4 address or prefix", want: "an IPv4 address or prefix (203.0.113.0/24)", tags: textTag,
		show:  netip.Prefix.String,
		parse: parsePrefix,
	}
}

// anyNetwork is as network, of both families.
func anyNetwork() kind[netip.Prefix] {
	return kind[netip.Prefix]{
		name: "address or prefix", allowed: "address or prefix, IPv4 or IPv6", want: "an address or a prefix (203.0.113.0/24, 2001:db8::/32)", tags: textTag,
		show: netip.Prefix.String,
		parse: func(text string) (netip.Prefix, error) {
			p, err := model.ParseNetwork(text)
			if errors.Is(err, model.ErrNoNetwork) {
				return p, errNoHint
			}
			return p, err
		},
	}
}

// parsePrefix has no hint where naming what is wanted says it all.
func parsePrefix(text string) (netip.Prefix, error) {
	p, err := model.ParsePrefix(text)
	if errors.Is(err, model.ErrNoPrefix) {
		return p, errNoHint
	}
	return p, err
}

func anyProtocol() kind[model.Protocol] {
	return choice(model.TCP, model.UDP, model.ICMP, model.AnyProtocol)
}

// portRange is a port or a range of ports.
func portRange() kind[model.Ports] {
	return kind[model.Ports]{
		name: "port or range", allowed: "1 to 65535, as 80 or 1000-2000", want: "a port of 1 to 65535, or a range (1000-2000)",
		tags: []string{"!!int", "!!str"}, show: model.Ports.String,
		parse: func(text string) (p model.Ports, err error) {
			first, last, isRange := strings.Cut(text, "-")
			if p.First, err = port().parse(first); err != nil {
				return model.Ports{}, errNoHint
			}
			if p.Last = p.First; !isRange {
				return p, nil
			}
			if p.Last, err = port().parse(last); err != nil {
				return model.Ports{}, errNoHint
			}
			if p.Last < p.First {
				return model.Ports{}, errors.New("the last port is below the first")
			}
			return p, nil
		},
	}
}
