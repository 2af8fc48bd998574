package settings

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Web is what `web` says.
type Web interface {
	// IsName reports whether names that open ports are web names: as is said of them, or by the ports alone.
	IsName(faults *schema.Faults, said schema.At[bool], ports []schema.At[model.Port], path string) bool
}

// redirectKey is where requests of HTTP are led.
func redirectKey(to *schema.At[string]) schema.Key {
	return schema.OneAt("redirect", &to.Value, &to.Line, schema.OneOf("https")).Otherwise("nowhere")
}

// redirects reports whether requests of HTTP for names with these ports are led to https.
func redirects(faults *schema.Faults, to schema.At[string], isWeb bool, ports []schema.At[model.Port], path string) bool {
	if to.Line == 0 {
		return false
	}
	has := func(port uint16) bool {
		return slices.ContainsFunc(ports, func(p schema.At[model.Port]) bool { return p.Value.Protocol == model.TCP && p.Value.Port == port })
	}
	switch {
	case !isWeb:
		faults.Add(to.Line, "%s.redirect: the name is no web name: see web.addresses and web", path)
	case !has(80) || !has(httpsPort):
		faults.Add(to.Line, "%s.redirect: from tcp/80 to tcp/443: open both", path)
	default:
		return true
	}
	return false
}

// WebPorts are those that web names open, each for each name.
func (hosts Hosts) WebPorts() (list []model.Port) {
	for _, h := range hosts {
		if h.Web {
			list = append(list, h.Open...)
		}
		for _, s := range h.Services {
			if s.Web {
				list = append(list, s.Ports...)
			}
		}
	}
	return list
}
