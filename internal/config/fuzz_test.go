package config

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go4.org/netipx"

	ban "github.com/realmgate/realmgate/internal/guard/ban/settings"
	geo "github.com/realmgate/realmgate/internal/guard/geo/settings"
	jail "github.com/realmgate/realmgate/internal/guard/jail/settings"
	lists "github.com/realmgate/realmgate/internal/guard/lists/settings"
	"github.com/realmgate/realmgate/internal/model"
	server "github.com/realmgate/realmgate/internal/names/server/settings"
	natlog "github.com/realmgate/realmgate/internal/natlog/settings"
	outbound "github.com/realmgate/realmgate/internal/outbound/settings"
	rules "github.com/realmgate/realmgate/internal/ruleset/settings"
	"github.com/realmgate/realmgate/internal/schema"
)

// FuzzParse: no input makes Parse panic; every error has file and line; what is
// accepted stays the same when it is written out and read again.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yml", "../../examples/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("testdata/fuzz.yaml", data)
		if err == nil {
			checkRoundTrip(t, c)
			return
		}
		var found schema.Errors
		if c != nil || !errors.As(err, &found) || len(found) == 0 {
			t.Fatalf("config %v with error %T %v", c, err, err)
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		before := 1
		for _, e := range found {
			if e.File != "testdata/fuzz.yaml" || e.Line < before || e.Message == "" || strings.ContainsAny(e.Message, "\r\n") {
				t.Fatalf("error %+v after line %d", e, before)
			}
			// Beside \n and \r, YAML 1.1 ends a line at NEL, LS and PS, and
			// UTF-16 hides its line feeds from the count above.
			wide := bytes.IndexByte(data, 0xff) >= 0 || bytes.IndexByte(data, 0xfe) >= 0
			if !wide && !bytes.ContainsAny(data, "\u0085\u2028\u2029") && e.Line > lines {
				t.Fatalf("error %+v in a file of %d lines", e, lines)
			}
			before = e.Line
		}
	})
}

// checkRoundTrip writes c as YAML, reads it and compares.
func checkRoundTrip(t *testing.T, c *Config) {
	t.Helper()
	text := render(c)
	again, err := Parse("testdata/again.yaml", []byte(text))
	if err != nil {
		t.Fatalf("what was accepted is refused when written out:\n%v\n%s", err, text)
	}
	if !reflect.DeepEqual(c, again) {
		t.Fatalf("changed when written out:\n got %+v\nwant %+v", again, c)
	}
}

// renderNames writes what only a gateway has.
func renderNames(line func(format string, args ...any), c *Config) {
	renderRealm(line, c.Realm)
	line("dns: {public: %q, private: %q, upstream: %s, verify: %s, cache: %d, wait_limit: %d, rebind_protection: %t, rebind_domain_ok: %s, client_subnet: %s, keys: [",
		publicServer(c.DNS), c.DNS.Private, list(c.DNS.Upstream), c.DNS.Verify, c.DNS.Cache, c.DNS.WaitLimit, c.DNS.RebindProtection, list(c.DNS.RebindDomainOK), list(c.DNS.ClientSubnet))
	renderKeys(line, c.DNS.Keys)
	p, q := c.Pool, c.Pool.Quotas
	line("pool:")
	line("  addresses: %s", list(slices.Concat(p.Interfaces, ranges(p.Addresses))))
	line("  order: %s", p.Order)
	line("  reservation_timeout: %s\n  rest: %s\n  refuse: %t\n  wait: %s", p.ReservationTimeout, p.Rest, p.Refuse, p.Wait)
	line("  reserve: %s\n  bands: [", schema.ShowRatio(p.Reserve))
	for _, b := range p.Bands {
		line("    {load: %s, service: %s, host: %s},", schema.ShowRatio(b.Load), schema.ShowRatio(b.Service), schema.ShowRatio(b.Host))
	}
	line("  ]\n  quotas: {client: %d, resolver: %d, host: %d, service: %d, total: %d, half_open: %d, half_open_per_host: %d, client_sessions: %d}",
		q.Client, q.Resolver, q.Host, q.Service, q.Total, q.HalfOpen, q.HalfOpenPerHost, q.ClientSessions)
}

// render writes every key of c.
func render(c *Config) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	private := ""
	if !c.Interfaces.Single() {
		private = "private: " + list(c.Interfaces.Private) + ", "
	}
	line("interfaces: {public: %s, %sxdp: %s, tcx: %s, reverse_path: %s, egress: {stack: %s}}", list(c.Interfaces.Public), private,
		list(c.Interfaces.XDP), list(c.Interfaces.TCX), c.Interfaces.ReversePath, list(c.Interfaces.Stack))
	if private != "" {
		renderNames(line, c)
	}
	line("outbound: {addresses: %s, filtering: %s, quarantine: %s, except: %s%s}", list(outboundEntries(c.Outbound)), c.Outbound.Filtering, c.Outbound.Quarantine, list(c.Outbound.Except), slots(c.Outbound))
	renderWeb(line, c.Web)
	line("timeouts:")
	for of, key := range []string{"tcp_established", "tcp_transitory", "tcp_closing", "udp", "udp_unanswered", "dns", "icmp", "others"} {
		line("  %s: %s", key, c.Timeouts[of])
	}
	renderLimits(line, c.Limits)
	line("capacity: %d\nipv6: %s\nmss: %s\nhosts:", c.Capacity, c.IPv6, c.MSS)
	if len(c.Hosts) == 0 {
		line("  []")
	}
	for _, h := range c.Hosts {
		line("  - name: %q\n    address: %q", h.Name, h.Address)
		if h.OneToOne.IsValid() {
			line("    one_to_one: %s", h.OneToOne)
		}
		if len(h.Open) > 0 {
			line("    open: %s", list(h.Open))
		}
		line("    services: [")
		for _, s := range h.Services {
			line("      {names: %s, ports: %s%s%s},", list(s.Names), list(model.PortTexts(s.Ports)), isWeb(s), https(s))
		}
		line("    ]")
	}
	renderDynamic(line, c.Dynamic)
	renderEdges(line, c.Edges)
	line("ignoreip: %s", list(c.IgnoreIP))
	renderBans(line, c.Bans)
	line("sets:")
	if len(c.Sets) == 0 {
		line("  []")
	}
	for _, s := range c.Sets {
		if s.File != "" {
			line("  - {name: %q, file: %q}", s.Name, s.File)
			continue
		}
		line("  - {name: %q, addresses: %s}", s.Name, list(prefixes(s.Addresses)))
	}
	renderJails(line, c.Jails)
	renderLists(line, c.Lists)
	renderSinks(line, c.Events)
	renderLog(line, c.Log)
	renderAPI(line, c.API)
	if c.Protection.Given() {
		line("protection:")
	}
	renderListed(line, "allowlist", c.Protection.Allowlist)
	renderListed(line, "blocklist", c.Protection.Blocklist)
	renderPorts(line, "ignored_ports", c.Protection.Ignored, "")
	if h := c.Protection.Honeypot; !h.Ports.Empty() {
		renderPorts(line, "honeypot", h.Ports, h.BanTime.String())
	}
	renderPorts(line, "monitored_ports", c.Protection.Monitored, "")
	renderGeofences(line, c.Protection)
	line("chains:")
	if len(c.Chains) == 0 {
		line("  []")
	}
	for _, ch := range c.Chains {
		renderChain(line, ch)
	}
	return b.String()
}

func renderPorts(line func(string, ...any), key string, s model.PortSet, ban string) {
	if s.Empty() {
		return
	}
	line("  %s:", key)
	for protocol, ports := range map[string][]model.Ports{"tcp": s.TCP, "udp": s.UDP} {
		if len(ports) > 0 {
			line("    %s: %s", protocol, list(ports))
		}
	}
	if ban != "" {
		line("    bantime: %s", ban)
	}
}

func renderBans(line func(string, ...any), b ban.Bans) {
	line("bans:\n  {factor: %s, cap: %s, memory: %s, subnet: %d, regions: [", schema.ShowRatio(b.Factor), b.Cap, b.Memory, b.Subnet)
	for _, r := range b.Regions {
		line("    {region: %q, factor: %s},", r.Region, schema.ShowRatio(r.Factor))
	}
	line("  ]}")
}

func renderGeofences(line func(string, ...any), p Protection) {
	if len(p.Geofences) == 0 {
		return
	}
	line("  geo_table: %q\n  geofence:", p.GeoTable)
	for _, g := range p.Geofences {
		line("    - direction: %s\n      unknown: %s\n      default: %s", g.Direction, g.Unknown, g.Default)
		for key, places := range map[string][]geo.Where{"allow": g.Allow, "deny": g.Deny} {
			if len(places) > 0 {
				line("      %s: %s", key, list(places))
			}
		}
	}
}

func renderLog(line func(string, ...any), l natlog.Log) {
	line("log:\n  destinations: %t", l.Destinations)
	if len(l.Sinks) > 0 {
		line("  sinks:")
	}
	for _, s := range l.Sinks {
		switch {
		case s.Directory != "":
			line("    - {name: %q, directory: %q, keep: %dd}", s.Name, s.Directory, s.Keep/(24*time.Hour))
		default:
			key, to := "syslog", s.Syslog
			if s.IPFIX.Host != "" {
				key, to = "ipfix", s.IPFIX
			}
			ca := ""
			if s.CA != "" {
				ca = fmt.Sprintf(", ca: %q", s.CA)
			}
			line("    - {name: %q, %s: %q%s}", s.Name, key, to, ca)
		}
	}
}

func renderJails(line func(string, ...any), jails []jail.Jail) {
	if len(jails) == 0 {
		return
	}
	line("jails:")
	for _, w := range jails {
		source := fmt.Sprintf("command: %s", list(w.Command))
		if w.File != "" {
			source = fmt.Sprintf("file: %q", w.File)
		}
		line("  - {name: %q, %s, patterns: %s, maxretry: %d, findtime: %s, bantime: %s}", w.Name, source, list(w.Patterns), w.MaxRetry, w.FindTime, w.BanTime)
	}
}

func renderLists(line func(string, ...any), all []lists.List) {
	line("lists:")
	if len(all) == 0 {
		line("  []")
	}
	for _, l := range all {
		line("  - name: %q\n    url: %q\n    refresh: %s", l.Name, l.URL, l.Refresh)
		if l.Column > 0 {
			line("    column: %d", l.Column)
		}
	}
}

func renderListed(line func(string, ...any), name string, listed []rules.Listed) {
	if len(listed) == 0 {
		return
	}
	line("  %s:", name)
	for _, l := range listed {
		switch {
		case l.Set != "":
			line("    - {direction: %s, set: %q}", l.Direction, l.Set)
		case l.List != "":
			line("    - {direction: %s, list: %q}", l.Direction, l.List)
		default:
			line("    - {direction: %s, remote: %q}", l.Direction, l.Remote)
		}
	}
}

func renderChain(line func(string, ...any), ch rules.Chain) {
	line("  - name: %q\n    match:", ch.Name)
	for _, m := range ch.Matches {
		line("      - direction: %s", m.Direction)
		switch {
		case m.Service != "":
			line("        service: %q", m.Service)
		default:
			line("        protocol: %s", m.Protocol)
			if m.Host != "" {
				line("        host: %q", m.Host)
			}
		}
		renderCondition(line, "        ", m.Condition)
	}
	line("    functions:")
	if len(ch.Functions) == 0 {
		line("      []")
	}
	for _, f := range ch.Functions {
		line("      - use: %q\n        name: %q\n        priority: %d", f.Use, f.Name, f.Priority)
		for name, others := range map[string][]string{"before": f.Before, "after": f.After} {
			if len(others) > 0 {
				line("        %s: %s", name, list(others))
			}
		}
		line("        fail: %s", f.Fail)
		renderSettings(line, f.Settings)
	}
}

// prefixes are the fewest that have the addresses of a set.
func prefixes(s *model.AddressSet) (all []netip.Prefix) {
	for _, r := range s.Ranges() {
		all = netipx.IPRangeFrom(numbered(r.First), numbered(r.Last)).AppendPrefixes(all)
	}
	for _, r := range s.Ranges6() {
		all = netipx.IPRangeFrom(netip.AddrFrom16(r.First), netip.AddrFrom16(r.Last)).AppendPrefixes(all)
	}
	return all
}

func list[T any](values []T) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// ranges joins runs of addresses that follow each other.
func ranges(addresses []netip.Addr) (runs []string) {
	for i := 0; i < len(addresses); {
		last := i
		for last+1 < len(addresses) && addresses[last+1] == addresses[last].Next() {
			last++
		}
		runs = append(runs, addresses[i].String()+"-"+addresses[last].String())
		i = last + 1
	}
	return runs
}

func outboundEntries(o outbound.Outbound) []string {
	entries := slices.Clone(o.Interfaces)
	for _, a := range o.Addresses {
		entries = append(entries, a.String())
	}
	return entries
}

func slots(o outbound.Outbound) string {
	if o.Slots == 0 {
		return ""
	}
	return fmt.Sprintf(", slots: %d", o.Slots)
}

func publicServer(d server.DNS) string {
	if d.Interface == "" {
		return d.Public.String()
	}
	return fmt.Sprintf("%s:%d", d.Interface, d.Public.Port())
}

func numbered(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}
