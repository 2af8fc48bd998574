package lists

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"

	"go4.org/netipx"
)

// span is a run of addresses of one family, both ends included.
type span struct{ first, last netip.Addr }

// parseEntry reads an address, a prefix without bits beyond its length, or a range a-b.
func parseEntry(text []byte) (span, error) {
	if from, to, ranged := bytes.Cut(text, []byte("-")); ranged {
		return parseRange(from, to)
	}
	if bytes.IndexByte(text, '/') >= 0 {
		return parsePrefix(text)
	}
	a, err := parseAddress(text)
	return span{a, a}, err
}

// parseAddress reads an address. An IPv6 one that maps an IPv4 one is the IPv4 one.
func parseAddress(text []byte) (netip.Addr, error) {
	a, err := netip.ParseAddr(string(text))
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, errNoEntry(text)
	}
	return a.Unmap(), nil
}

func parseRange(from, to []byte) (span, error) {
	first, err := parseAddress(bytes.TrimSpace(from))
	if err != nil {
		return span{}, err
	}
	last, err := parseAddress(bytes.TrimSpace(to))
	if err != nil {
		return span{}, err
	}
	if first.Is4() != last.Is4() {
		return span{}, fmt.Errorf("%s-%s is of two families", first, last)
	}
	if last.Less(first) {
		return span{}, fmt.Errorf("%s-%s ends before it begins", first, last)
	}
	return span{first, last}, nil
}

func parsePrefix(text []byte) (span, error) {
	p, err := netip.ParsePrefix(string(text))
	if err != nil {
		return span{}, errNoEntry(text)
	}
	if p != p.Masked() {
		return span{}, fmt.Errorf("%s is no prefix boundary, the prefix around it is %s", p.Addr(), p.Masked())
	}
	if a := p.Addr(); a.Is4In6() && p.Bits() >= mapped {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-mapped)
	}
	return span{p.Addr(), netipx.PrefixLastIP(p)}, nil
}

// mapped is the length of ::ffff:0:0/96, where IPv6 has the IPv4 addresses.
const mapped = 96

// errNoEntry shows what was found in place of an entry, a bit of it where it is long.
func errNoEntry(text []byte) error {
	const most = 60
	if len(text) == 0 {
		return errors.New("want an address, a prefix or a range, not nothing")
	}
	if len(text) > most {
		return fmt.Errorf("want an address, a prefix or a range, not what begins with %q", text[:most])
	}
	return fmt.Errorf("want an address, a prefix or a range, not %q", text)
}
