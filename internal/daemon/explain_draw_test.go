package daemon

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

const listedHosts = `  - {name: hostb.foo.example., address: 10.0.0.101, open: all}
  - {name: dns.foo.example., address: 10.0.0.102, services: [{name: ask.foo.example., protocol: udp, port: 53}, {name: shell.foo.example., protocol: tcp, port: 22}]}
`

func (d *differential) configuration() string {
	var b strings.Builder
	d.clocked = false
	b.WriteString(strings.Replace(text, "pool: {", "pool: {wait: 0s, ", 1) + listedHosts) // who gets no address does without
	if d.often(3) {
		b.WriteString("  - {name: own.foo.example., address: 10.0.0.103, one_to_one: 198.18.0.7}\n")
	}
	b.WriteString("capacity: 1024\n")
	fmt.Fprintf(&b, "outbound: {addresses: [198.18.0.2], filtering: %s%s}\n",
		pick(d, "endpoint-independent", "address-dependent", "address-and-port-dependent"), pick(d, "", "", ", except: [203.0.113.8/30]"))
	d.limits(&b)
	if d.often(3) {
		b.WriteString("mss: " + pick(d, "off", "1200") + "\n")
	}
	if d.often(5) {
		b.WriteString("ipv6: forward\n")
	}
	if d.often(3) {
		b.WriteString("web: {addresses: [198.18.0.80], ttl: 1s" + pick(d, "", ", quic: true") + "}\n")
	}
	if d.often(8) {
		b.WriteString("chains:\n")
		jumps := []string(nil)
		for n := range 1 + d.r.IntN(5) {
			if !d.chain(&b, n, jumps) {
				jumps = append(jumps, fmt.Sprint("c", n))
			}
		}
	}
	if d.often(6) {
		d.protection(&b)
	}
	return b.String()
}

func (d *differential) limits(b *strings.Builder) {
	sessions, rates := "", "host_rate: 0, remote_rate: 0"
	if d.often(4) {
		sessions = fmt.Sprintf("host_sessions: %d, host_ports: {udp: %d}, remote_sessions: %d, ", pick(d, 0, 3, 40), pick(d, 0, 2, 20), pick(d, 0, 2, 20))
	}
	if d.often(3) {
		rates, d.clocked = fmt.Sprintf("host_rate: %d, remote_rate: %d", pick(d, 0, 1, 3), pick(d, 0, 1, 3)), true
	}
	fmt.Fprintf(b, "limits: {%s%s}\n", sessions, rates)
}

// chain writes one that may jump to some of those before; one with dnat cannot be jumped to.
func (d *differential) chain(b *strings.Builder, n int, jumps []string) (dnat bool) {
	dnat = n > 0 && d.often(5)
	fmt.Fprintf(b, "  - name: c%d\n    match: {%s}\n    functions:\n", n, strings.Join(d.match(dnat), ", "))
	for f := range 1 + d.r.IntN(3) {
		fmt.Fprintf(b, "      - {%s, name: f%d}\n", d.function(jumps), f)
	}
	if dnat && d.often(7) {
		b.WriteString(pick(d, "      - {use: dnat, to: 10.0.0.101, port: 8080}\n", "      - {use: dnat, to: 172.16.0.1}\n",
			"      - {use: multipath, backends: [{to: 10.0.0.101}]}\n", "      - {use: multipath, backends: [{to: 10.0.0.101}, {to: 10.0.0.102}]}\n"))
	} else if dnat {
		b.WriteString("      - {use: dnat, to: 10.0.0.102}\n")
	}
	return dnat
}

// Match and condition draw these source ports alone, and all from 1 to the first: flows come from the first of them that is free.
const firstSourcePort, lastSourcePort = 40000, 40009

func (d *differential) match(dnat bool) (match []string) {
	if d.often(2) {
		match = append(match, "source_port: "+pick(d, "40000", "40001-40003", "1-40000"))
	}
	port, remote := "port: "+pick(d, "80", "8000", "20-90"), pick(d, "203.0.113.0/29", "203.0.113.4/30", "192.0.2.0/24")
	switch protocol := "protocol: " + pick(d, "tcp", "udp"); {
	case dnat:
		match = append(match, "direction: in")
		if d.often(3) {
			match = append(match, "from: "+remote)
		}
		if d.often(5) {
			return append(match, "to: 198.18.0.3", protocol)
		}
		return append(match, "to: "+pick(d, "198.18.0.2", "198.18.0.2", "198.18.0.3"), protocol, "port: "+pick(d, "80", "8080", "24-90")) // none of the honeypot
	case d.often(2):
		return append(match, "service: "+pick(d, www, "ask.foo.example."))
	case d.often(2):
		match = append(match, protocol, port)
	case d.often(2):
		match = append(match, protocol)
	}
	if d.often(3) {
		match = append(match, "remote: "+remote)
	}
	if d.often(7) {
		match = append(match, "direction: "+pick(d, "in", "out"))
	}
	return match
}

func (d *differential) function(jumps []string) string {
	switch k := d.r.IntN(18); {
	case k < 4:
		return "use: filter, deny: [" + d.condition() + "]"
	case k < 6:
		return "use: filter, allow: [" + d.condition() + ", " + d.condition() + "]"
	case k < 7:
		return fmt.Sprintf("use: rate-limit, new: %d/h, burst: 1h, per: %s", pick(d, 1, 5, 50), pick(d, "source", "host"))
	case k < 8:
		return fmt.Sprintf("use: dos-denial, threshold: %d/h, mode: %s, burst: 1h, per: %s", pick(d, 1, 2, 20), pick(d, "token-bucket", "syn-rate"), pick(d, "source", "flow"))
	case k < 10 && len(jumps) > 0:
		return fmt.Sprintf("use: jump, chain: %s%s", pick(d, jumps...), pick(d, "", ", when: ["+d.condition()+"]"))
	case k < 11:
		return "use: mirror"
	case k < 12:
		return `use: first-bytes, deny_bytes: ["SSH-"]`
	case k < 14:
		d.clocked = true
		return fmt.Sprintf("use: connlimit, connections: %d, idle: %s, entries: 1024", pick(d, 1, 2, 5), pick(d, "300s", "10s"))
	case k < 16:
		return "use: " + ownFile + pick(d, "", ", hook: packet", ", access: rewrite")
	case k < 17:
		return "use: ask, socket: /nowhere, fail: " + pick(d, "open", "open", "closed") + pick(d, "", ", first: bytes")
	}
	return "use: filter, deny: [{protocol: tcp, port: 22}]"
}

func (d *differential) condition() string {
	return pick(d, "203.0.113.0/29", "203.0.113.5", "{from: 203.0.113.4/30}", "{from: 10.0.0.100}", "{to: 10.0.0.101}", "{protocol: udp}", "{protocol: tcp, port: 80}", "{protocol: icmp}", "192.0.2.0/24",
		"{source_port: 40001-40009}", "{protocol: udp, source_port: 40000}")
}

func (d *differential) protection(b *strings.Builder) {
	b.WriteString("protection:\n")
	fmt.Fprintf(b, "  allowlist: [%s]\n", pick(d, "203.0.113.1", "203.0.113.4/31", `"2a00:1::1"`))
	if d.often(6) {
		fmt.Fprintf(b, "  blocklist: [203.0.113.4/30, {remote: %s, direction: %s}]\n", pick(d, "203.0.113.8", `"2a00:4::/32"`), pick(d, "in", "out"))
	}
	if d.often(4) {
		b.WriteString("  ignored_ports: {tcp: [443]}\n")
	}
	if d.often(2) {
		b.WriteString("  monitored_ports: {tcp: [80, 8000], udp: [53]}\n")
	}
	if d.often(6) {
		b.WriteString("  honeypot: {tcp: [23, 8000], udp: [1900]}\n")
	}
	if d.often(6) {
		fmt.Fprintf(b, "  geo_table: %s\n  geofence: [%s]\n", d.places, pick(d,
			"{deny: [country:FI, continent:SA, 203.0.113.8/30], unknown: allow}",
			"{allow: [country:FI, continent:AS, 203.0.113.0/29], deny: [asn:64500], unknown: deny}",
			"{direction: in, allow: [asn:64500, 203.0.113.0/28], unknown: allow}, {direction: out, deny: [country:JP, country:BR], unknown: deny}"))
	}
}

// ownFile is a user's own function, beside the configuration.
const ownFile = "./own.bpf.o"

// ownFunction is the example of one, that drops pings as short as those that are explained, too.
func ownFunction(t *testing.T) []byte {
	t.Helper()
	const example, length = "../../examples/network-function/", "#define MOST 128"
	source, err := os.ReadFile(example + "only_small_pings.bpf.c")
	if err != nil || !strings.Contains(string(source), length) {
		t.Fatalf("the example has no %s: %v", length, err)
	}
	return nftest.Compile(t, strings.Replace(string(source), length, "#define MOST 27", 1))
}

// stranger is one of few, of whom the geo table knows some.
func (d *differential) stranger() netip.Addr {
	if d.often(2) {
		return netip.AddrFrom4([4]byte{77, byte(1 + d.r.IntN(5)), 0, byte(1 + d.r.IntN(2))})
	}
	return netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + d.r.IntN(12))})
}

func (d *differential) host() netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, 0, byte(100 + d.r.IntN(4))})
}

// flow is one that may meet something.
func (d *differential) flow() (f explain.Flow) {
	if d.often(1) {
		return d.flow6()
	}
	address := netip.MustParseAddr
	f.Protocol = pick(d, model.TCP, model.TCP, model.TCP, model.UDP, model.UDP, model.ICMP, model.ESP, model.UDPLite)
	f.Port = d.port(f.Protocol)
	f.Direction = pick(d, model.In, model.Out)
	if f.Direction == model.In {
		f.Source = d.stranger()
		if d.often(1) {
			f.Source = pick(d, d.host(), address("198.18.0.2"), address("10.0.0.7"), address("127.0.0.1"), address("192.0.2.7"))
		}
		f.Destination = pick(d, address("198.18.0.2"), address("198.18.0.2"), address("198.18.0.1"), address("198.18.0.3"), address("198.18.0.7"), address("198.18.0.32"), d.host(), address("224.0.1.1"))
		if d.often(5) {
			f.Destination = d.lent()
		}
		if d.often(5) && strings.Contains(d.text, "to: 198.18.0.3") {
			f.Destination = address("198.18.0.3") // dnat has all of it
		}
		if d.often(4) && strings.Contains(d.text, "web: {") {
			f.Destination, f.Protocol, f.Port = webAddress, pick(d, model.TCP, model.TCP, f.Protocol), pick(d, 80, 80, f.Port)
		}
	} else {
		f.Source = d.host()
		if d.often(1) {
			f.Source = pick(d, d.stranger(), address("198.18.0.2"), address("10.1.0.9"))
		}
		f.Destination = pick(d, d.stranger(), d.stranger(), d.stranger(), address("198.18.0.2"), address("198.18.0.7"), address("10.0.0.1"), d.host(), address("198.18.0.3"), webAddress)
		if d.often(1) {
			f.Destination = d.lent()
		}
	}
	if f.Protocol.HasPorts() && f.Destination == address("198.18.0.2") && d.often(6) {
		f.Port = somePort + uint16(d.r.IntN(3)) // of a mapping, maybe: hosts keep their ports
	}
	return f
}

// flow6 is one of IPv6, which chains do not see.
func (d *differential) flow6() (f explain.Flow) {
	address := netip.MustParseAddr
	host, stranger := address("2001:db8:2::5"), d.stranger6()
	f.Protocol = pick(d, model.TCP, model.TCP, model.UDP, model.ICMP)
	f.Port = d.port(f.Protocol)
	f.Direction = pick(d, model.In, model.Out)
	if f.Direction == model.In {
		f.Source, f.Destination = stranger, pick(d, host, host, address("2001:db8:1::1"), d.stranger6(), address("ff05::2"))
		if d.often(1) {
			f.Source = pick(d, host, address("fe80::9"))
		}
	} else {
		f.Source, f.Destination = host, pick(d, stranger, stranger, stranger, address("2001:db8:2::6"), address("2001:db8:2::1"), address("ff05::2"))
		if d.often(1) {
			f.Source = pick(d, d.stranger6(), address("fe80::5"))
		}
	}
	return f
}

func (d *differential) stranger6() netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("2a00:%d::%d", 1+d.r.IntN(5), 1+d.r.IntN(2)))
}

func (d *differential) port(p model.Protocol) uint16 {
	if !p.HasPorts() {
		return 0
	}
	return pick[uint16](d, 22, 23, 53, 80, 443, 1900, 8000, 8080, 7000)
}

// lent is what some name is answered.
func (d *differential) lent() netip.Addr {
	a, err := d.ask(pick(d, www, "hostb.foo.example.", "ask.foo.example.", "shell.foo.example."))
	if err != nil { // the asker has had enough
		return netip.MustParseAddr("198.18.0.33")
	}
	return a
}
