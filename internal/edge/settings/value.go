package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// automatic is the word for what is found out.
const automatic = "auto"

// endpoint is an IPv4 address with the port of links unless another is given.
func endpoint() schema.Kind[netip.AddrPort] {
	k := schema.AddressPort(false)
	parse := k.Parse
	k.Allowed = fmt.Sprintf("IPv4 address, port %d unless given", LinkPort)
	k.Want = fmt.Sprintf("an IPv4 address, with a port (address:port) or without (%d)", LinkPort)
	k.Parse = func(text string) (netip.AddrPort, error) {
		if !strings.Contains(text, ":") {
			text += fmt.Sprintf(":%d", LinkPort)
		}
		return parse(text)
	}
	return k
}

// proxyRange is a private prefix, or one of 100.64.0.0/10 (RFC 6598).
func proxyRange() schema.Kind[netip.Prefix] {
	k := schema.Network()
	parse := k.Parse
	shared := netip.MustParsePrefix("100.64.0.0/10")
	k.Name, k.Allowed, k.Want = "prefix", "/16 to /28 of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or 100.64.0.0/10", "a private prefix of 16 to 28 bits (172.31.0.0/16)"
	k.Parse = func(text string) (netip.Prefix, error) {
		p, err := parse(text)
		switch {
		case err != nil:
			return p, err
		case p.Bits() < 16 || p.Bits() > 28:
			return p, fmt.Errorf("it has %d bits", p.Bits())
		case !p.Addr().IsPrivate() && !shared.Contains(p.Addr()):
			return p, errors.New("others may have public addresses")
		}
		return p, nil
	}
	return k
}

// mtu is the most that a packet inside has, 0 for the word auto where that may be.
func mtu(auto bool) schema.Kind[int] {
	k := schema.Number(1280, 9000)
	if !auto {
		return k
	}
	parse := k.Parse
	k.Name, k.Allowed = "word or number", automatic+" or "+k.Allowed
	k.Want, k.Tags, k.Words, k.Open = k.Allowed, []string{"!!str", "!!int"}, []string{automatic}, true
	k.Show = func(n int) string {
		if n == 0 {
			return automatic
		}
		return strconv.Itoa(n)
	}
	k.Parse = func(text string) (int, error) {
		if text == automatic {
			return 0, nil
		}
		return parse(text)
	}
	return k
}

// rate is so many a second at most.
func rate(most int) schema.Kind[float64] {
	n := schema.Number(1, most)
	return schema.Kind[float64]{
		Name: "rate", Allowed: fmt.Sprintf("1/s to %d/s", most), Want: fmt.Sprintf("a rate of 1/s to %d/s", most), Tags: schema.TextTag,
		Show: func(f float64) string { return schema.ShowRatio(f) + "/s" },
		Parse: func(text string) (float64, error) {
			number, found := strings.CutSuffix(text, "/s")
			if !found {
				return 0, errors.New("add its unit: /s")
			}
			value, err := n.Parse(number)
			return float64(value), err
		},
	}
}

// pin is the SHA-256 of a certificate's SubjectPublicKeyInfo.
func pin() schema.Kind[[32]byte] {
	const prefix = "sha256/"
	return schema.Kind[[32]byte]{
		Name: "pin", Allowed: "sha256/ and base64", Want: "a pin (sha256/ and 44 characters of base64: its gateway logs it when it starts)", Tags: schema.TextTag,
		Show: func(p [32]byte) string { return prefix + base64.StdEncoding.EncodeToString(p[:]) },
		Parse: func(text string) (p [32]byte, err error) {
			digest, found := strings.CutPrefix(text, prefix)
			octets, err := base64.StdEncoding.Strict().DecodeString(digest)
			if !found || err != nil || len(octets) != len(p) {
				return p, schema.ErrNoHint
			}
			return [32]byte(octets), nil
		},
	}
}

// pattern is a name, a wildcard or all names.
func pattern() schema.Kind[model.Name] {
	k := schema.Pattern()
	parse := k.Parse
	k.Allowed, k.Want = `domain name, *. before one, or "*"`, `a domain name, *. before one, or "*" for all`
	k.Parse = func(text string) (model.Name, error) {
		if text == string(Anything) {
			return Anything, nil
		}
		return parse(text)
	}
	return k
}

// service is a port as peers see it.
func service() schema.Kind[model.Port] {
	return schema.Kind[model.Port]{
		Name: "protocol/port", Allowed: "as tcp/80, udp/53 or icmp", Want: "a port (tcp/80, udp/53, icmp)", Tags: schema.TextTag,
		Show: model.Port.String,
		Parse: func(text string) (model.Port, error) {
			p, err := model.ParsePort(text)
			if err != nil || p == (model.Port{}) || p.Port != p.To {
				return model.Port{}, schema.ErrNoHint
			}
			return p, nil
		},
	}
}
