package model

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrNoPrefix is of a text that ParsePrefix cannot read at all.
var ErrNoPrefix = errors.New("no IPv4 address or prefix")

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
