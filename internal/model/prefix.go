package model

import (
	"errors"
	"fmt"
	"net/netip"
)

// What is said of a text that ParsePrefix, or ParseNetwork, cannot read at all.
var (
	ErrNoPrefix  = errors.New("no IPv4 address or prefix")
	ErrNoNetwork = errors.New("no IPv4 or IPv6 address or prefix")
)

// ParsePrefix reads an IPv4 address, which is a prefix of its own, or an IPv4 prefix
// without bits beyond its length.
func ParsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() {
		return netip.Prefix{}, fmt.Errorf("%q is %w", text, ErrNoPrefix)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("%s is no prefix boundary, the prefix around it is %s", p.Addr(), p.Masked())
	}
	return p, nil
}

// ParseNetwork is as ParsePrefix, for both families. IPv4 is not written as IPv6, and an
// address has no zone.
func ParseNetwork(text string) (netip.Prefix, error) {
	if p, err := ParsePrefix(text); !errors.Is(err, ErrNoPrefix) {
		return p, err
	}
	var p netip.Prefix
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		p = netip.PrefixFrom(a, a.BitLen())
	} else if p, err = netip.ParsePrefix(text); err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is %w", text, ErrNoNetwork)
	}
	switch {
	case p.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("%s is IPv4 within IPv6: write it as %s", p.Addr(), p.Addr().Unmap())
	case p != p.Masked():
		return netip.Prefix{}, fmt.Errorf("%s is no prefix boundary, the prefix around it is %s", p.Addr(), p.Masked())
	}
	return p, nil
}
