package config

import "fmt"

// writeLine writes a line of a configuration.
type writeLine = func(format string, args ...any)

func renderRealm(line writeLine, r Realm) {
	line("realm:\n  nameserver: %q\n  zones:", r.Nameserver)
	for _, z := range r.Zones {
		line("    - name: %q\n      acme: %s\n      secondaries: [", z.Name, list(z.ACME))
		for _, s := range z.Secondaries {
			line("        {address: %q, key: %q},", s.Address, s.Key)
		}
		line("      ]")
		if z.File != "" {
			line("      file: %q", z.File)
		}
	}
}

// renderKeys goes on within dns.
func renderKeys(line writeLine, keys []Key) {
	for _, k := range keys {
		line("  {name: %q, algorithm: %s, secret: %q},", k.Name, k.Algorithm, k.Secret)
	}
	line("]}")
}

func https(s Service) string {
	if s.HTTPS == nil {
		return ""
	}
	return fmt.Sprintf(", https: {port: %d, alpn: %s}", s.HTTPS.Port, list(s.HTTPS.ALPN))
}

func renderMultipath(line func(string, ...any), m Multipath) {
	line("        backends:")
	for _, b := range m.Backends {
		line("          - to: %q\n            weight: %d", b.To, b.Weight)
		if b.Port > 0 {
			line("            port: %d", b.Port)
		}
	}
	if !m.Checked {
		return
	}
	c := m.Check
	line("        check:\n          every: %s\n          timeout: %s\n          fall: %d\n          rise: %d", c.Every, c.Timeout, c.Fall, c.Rise)
	if c.HTTP != "" {
		line("          http: %q", c.HTTP)
	}
	if c.Port > 0 {
		line("          port: %d", c.Port)
	}
}

func renderMeter(line func(string, ...any), f Function) {
	m := f.Meter
	switch {
	case f.Use == UseDoSDenial:
		line("        threshold: %s\n        mode: %s", m.Rate, m.Mode)
	case f.Use != UseRateLimit:
		return
	case m.New:
		line("        new: %s", m.Rate)
	case m.Rate.Bytes:
		line("        bytes: %s", m.Rate)
	default:
		line("        packets: %s", m.Rate)
	}
	line("        per: %s\n        entries: %d", m.Per, m.Entries)
	if m.Window > 0 {
		line("        window: %s", m.Window)
	} else {
		line("        burst: %s", m.Burst)
	}
}

func renderLimits(line func(string, ...any), l Limits) {
	line("limits: {host_sessions: %d, host_ports: {udp: %d, tcp: %d, icmp: %d}, host_rate: %d, remote_sessions: %d, remote_rate: %d, binding_sessions: %d, mapping_sessions: %d}",
		l.HostSessions, l.HostPorts.UDP, l.HostPorts.TCP, l.HostPorts.ICMP, l.HostRate, l.RemoteSessions, l.RemoteRate, l.BindingSessions, l.MappingSessions)
}
