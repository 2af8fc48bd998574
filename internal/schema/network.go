package schema

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// Label is a name of a chain, a function, a set, a list, a jail or a sink.
func Label() Kind[string] {
	return Kind[string]{
		Name: "word", Allowed: "1 to 32 of a-z, 0-9 and -", Want: "a name of 1 to 32 letters a-z, digits and hyphens", Tags: TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
			bad := func(r rune) bool { return !strings.ContainsRune(letters, r) }
			if text == "" || len(text) > 32 || strings.ContainsFunc(text, bad) {
				return "", ErrNoHint
			}
			return text, nil
		},
	}
}

// Network is an IPv4 address or prefix, also one that no machine can have.
func Network() Kind[netip.Prefix] {
	return Kind[netip.Prefix]{
		Name: "address or prefix", Allowed: "IPv4 address or prefix", Want: "an IPv4 address or prefix (203.0.113.0/24)", Tags: TextTag,
		Show:  netip.Prefix.String,
		Parse: parsePrefix,
	}
}

// AnyNetwork is as network, of both families.
func AnyNetwork() Kind[netip.Prefix] {
	return Kind[netip.Prefix]{
		Name: "address or prefix", Allowed: "address or prefix, IPv4 or IPv6", Want: "an address or a prefix (203.0.113.0/24, 2001:db8::/32)", Tags: TextTag,
		Show: netip.Prefix.String,
		Parse: func(text string) (netip.Prefix, error) {
			p, err := model.ParseNetwork(text)
			if errors.Is(err, model.ErrNoNetwork) {
				return p, ErrNoHint
			}
			return p, err
		},
	}
}

// parsePrefix has no hint where naming what is wanted says it all.
func parsePrefix(text string) (netip.Prefix, error) {
	p, err := model.ParsePrefix(text)
	if errors.Is(err, model.ErrNoPrefix) {
		return p, ErrNoHint
	}
	return p, err
}

// AnyProtocol is one of the protocols that have words, or any.
func AnyProtocol() Kind[model.Protocol] {
	return Choice(model.TCP, model.UDP, model.ICMP, model.AnyProtocol)
}

// PortRange is a port or a range of ports.
func PortRange() Kind[model.Ports] {
	return Kind[model.Ports]{
		Name: "port or range", Allowed: "1 to 65535, as 80 or 1000-2000", Want: "a port of 1 to 65535, or a range (1000-2000)",
		Tags: []string{"!!int", "!!str"}, Show: model.Ports.String,
		Parse: func(text string) (p model.Ports, err error) {
			first, last, isRange := strings.Cut(text, "-")
			if p.First, err = Port().Parse(first); err != nil {
				return model.Ports{}, ErrNoHint
			}
			if p.Last = p.First; !isRange {
				return p, nil
			}
			if p.Last, err = Port().Parse(last); err != nil {
				return model.Ports{}, ErrNoHint
			}
			if p.Last < p.First {
				return model.Ports{}, errors.New("the last port is below the first")
			}
			return p, nil
		},
	}
}
