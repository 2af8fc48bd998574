package config

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/ask"
	"github.com/realmgate/realmgate/internal/nf/dnat"
	"github.com/realmgate/realmgate/internal/nf/dosdenial"
	"github.com/realmgate/realmgate/internal/nf/filter"
	"github.com/realmgate/realmgate/internal/nf/firstbytes"
	"github.com/realmgate/realmgate/internal/nf/jump"
	"github.com/realmgate/realmgate/internal/nf/match"
	"github.com/realmgate/realmgate/internal/nf/multipath"
	"github.com/realmgate/realmgate/internal/nf/object"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
)

// renderSettings writes the own keys of a function.
func renderSettings(line writeLine, settings nf.Settings) {
	switch s := settings.(type) {
	case filter.Settings:
		renderConditions(line, "deny", s.Deny)
		renderConditions(line, "allow", s.Allow)
	case jump.Settings:
		line("        chain: %q", s.To)
		renderConditions(line, "when", s.When)
	case dnat.Settings:
		line("        to: %q", s.To)
		if s.Port > 0 {
			line("        port: %d", s.Port)
		}
	case multipath.Settings:
		renderMultipath(line, s)
	case firstbytes.Settings:
		renderSignatures(line, "deny_bytes", s.Deny)
		renderSignatures(line, "allow_bytes", s.Allow)
	case ask.Settings:
		line("        socket: %q\n        first: %s\n        timeout: %s", s.Socket, s.First, s.Timeout)
	case object.Settings:
		line("        access: %s\n        hook: %s", s.Access, s.Hook)
	case dosdenial.Settings:
		line("        threshold: %s\n        mode: %s\n        per: %s\n        entries: %d", s.Rate, s.Mode, s.Per, s.Entries)
		if s.Window > 0 {
			line("        window: %s", s.Window)
		} else {
			line("        burst: %s", s.Burst)
		}
	case ratelimit.Settings:
		what := "packets"
		if s.New {
			what = "new"
		} else if s.Rate.Bytes {
			what = "bytes"
		}
		line("        %s: %s\n        per: %s\n        entries: %d\n        burst: %s", what, s.Rate, s.Per, s.Entries, s.Burst)
	}
}

func renderConditions(line writeLine, name string, conditions []match.Condition) {
	if len(conditions) > 0 {
		line("        %s:", name)
	}
	for _, c := range conditions {
		line("          - protocol: %s", c.Protocol)
		renderCondition(line, "            ", c)
	}
}

func renderMultipath(line func(string, ...any), m multipath.Settings) {
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

func renderSignatures(line func(string, ...any), name string, list []firstbytes.Pattern) {
	if len(list) > 0 {
		line("        %s:", name)
	}
	for _, s := range list {
		if s.Hex != "" {
			line("          - hex: %q", s.Hex)
		} else {
			line("          - prefix: %q", s.Text)
		}
	}
}

func renderCondition(line func(string, ...any), indent string, c match.Condition) {
	for key, p := range map[string]netip.Prefix{"from": c.From, "to": c.To, "remote": c.Remote} {
		if p.IsValid() {
			line("%s%s: %q", indent, key, p)
		}
	}
	if c.Set != "" {
		line("%sset: %q", indent, c.Set)
	}
	for key, p := range map[string]model.Ports{"port": c.Ports, "source_port": c.SourcePorts} {
		if p != (model.Ports{}) {
			line("%s%s: %q", indent, key, p)
		}
	}
}
