package config

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
	dynamic "github.com/realmgate/realmgate/internal/names/dynamic/settings"
	realm "github.com/realmgate/realmgate/internal/names/realm/settings"
	server "github.com/realmgate/realmgate/internal/names/server/settings"
	plane "github.com/realmgate/realmgate/internal/plane/settings"
	web "github.com/realmgate/realmgate/internal/web/settings"
)

// writeLine writes a line of a configuration.
type writeLine = func(format string, args ...any)

func renderRealm(line writeLine, r realm.Realm) {
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
func renderKeys(line writeLine, keys []server.Key) {
	for _, k := range keys {
		line("  {name: %q, algorithm: %s, secret: %q},", k.Name, k.Algorithm, k.Secret)
	}
	line("]}")
}

func https(s realm.Service) string {
	if s.HTTPS == nil {
		return ""
	}
	return fmt.Sprintf(", https: {port: %d, alpn: %s}", s.HTTPS.Port, list(s.HTTPS.ALPN))
}

func renderWeb(line writeLine, w web.Web) {
	if len(w.Addresses) > 0 {
		line("web: {addresses: %s, ttl: %s, hello: %s, quic: %t}", list(w.Addresses), w.TTL, w.Hello, w.QUIC)
	}
}

func isWeb(s realm.Service) string {
	if !s.Web && !s.NoWeb {
		return ""
	}
	return fmt.Sprintf(", web: %t", s.Web)
}

func renderLimits(line func(string, ...any), l plane.Limits) {
	line("limits: {host_sessions: %d, host_ports: {udp: %d, tcp: %d, icmp: %d}, host_rate: %d, remote_sessions: %d, remote_rate: %d, binding_sessions: %d, mapping_sessions: %d}",
		l.HostSessions, l.HostPorts.UDP, l.HostPorts.TCP, l.HostPorts.ICMP, l.HostRate, l.RemoteSessions, l.RemoteRate, l.BindingSessions, l.MappingSessions)
}

func renderDynamic(line writeLine, entries []dynamic.Entry) {
	if len(entries) == 0 {
		return
	}
	line("dynamic:")
	for _, e := range entries {
		line("  - zone: %q\n    prefixes: %s", e.Zone, list(e.Prefixes))
		if e.Source == dynamic.Update {
			line("    update: {key: %q}", e.Key)
		} else {
			line("    %s: %q", e.Source, e.File)
		}
		line("    services: [")
		for _, s := range e.Services {
			label := ""
			if s.Label != "" {
				label = fmt.Sprintf("name: %q, ", s.Label)
			}
			web := ""
			if s.Web || s.NoWeb {
				web = fmt.Sprintf(", web: %t", s.Web)
			}
			line("      {%sports: %s%s},", label, list(model.PortTexts(s.Ports)), web)
		}
		line("    ]")
	}
}
