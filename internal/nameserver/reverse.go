package nameserver

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// localPrefixes are private addresses, whose reverse names are answered here
// and never asked upstream, which cannot know them (RFC 6303 §4.1, RFC 7793 §4).
var localPrefixes = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),
}

const reverseSuffix = ".in-addr.arpa."

// reverse answers for names below in-addr.arpa that belong to hosts or to
// private addresses. ok is false for all others.
func (a *authority) reverse(q *query, directory Directory) (d decision, ok bool) {
	address, octets, ok := reverseAddress(q.canonical)
	if !ok {
		return decision{}, false
	}
	r := reply{authoritative: true}
	zone := localZone(q.canonical, address, octets)
	host, isHost := model.Name(""), false
	if octets == 4 {
		host, isHost = directory.Reverse(address)
	}
	switch {
	case isHost && q.qtype == dns.TypePTR:
		r.answer = []dns.RR{&dns.PTR{Hdr: header(q.asked(), dns.TypePTR, recordTTL), Ptr: string(host)}}
		return decision{reply: r}, true
	case isHost && zone == "":
		zone = q.canonical // a host with an address that is not private: a zone of its own
	case zone == "":
		return decision{}, false
	case octets == 4 && !isHost:
		return a.local(zone).negative(r, dns.RcodeNameError, negativeTTL), true
	}
	// The host's other types, and the names above, of which each may have
	// hosts below it (RFC 8020 §2).
	return a.local(zone).negative(r, dns.RcodeSuccess, negativeTTL), true
}

// reverseAddress reads 100.0.0.10.in-addr.arpa as 10.0.0.100 with 4 octets, and
// 0.10.in-addr.arpa as 10.0.0.0 with 2.
func reverseAddress(name model.Name) (address netip.Addr, octets int, ok bool) {
	rest, ok := strings.CutSuffix(string(name), reverseSuffix)
	if !ok {
		return netip.Addr{}, 0, false
	}
	labels := strings.Split(rest, ".")
	if len(labels) > 4 {
		return netip.Addr{}, 0, false
	}
	var bytes [4]byte
	for i, label := range labels {
		value, err := strconv.ParseUint(label, 10, 8)
		if err != nil || strconv.FormatUint(value, 10) != label {
			return netip.Addr{}, 0, false
		}
		bytes[len(labels)-1-i] = byte(value)
	}
	return netip.AddrFrom4(bytes), len(labels), true
}

// localZone is the locally served zone that holds a reverse name, or "".
func localZone(name model.Name, address netip.Addr, octets int) model.Name {
	for _, prefix := range localPrefixes {
		zoneOctets := (prefix.Bits() + 7) / 8
		if octets < zoneOctets || !prefix.Contains(address) {
			continue
		}
		rest := string(name)
		for range octets - zoneOctets {
			_, rest, _ = strings.Cut(rest, ".")
		}
		return model.Name(rest)
	}
	return ""
}

// local is a zone of reverse names.
func (a *authority) local(name model.Name) *served { return bare(name, a.nameserver, a.serial) }
