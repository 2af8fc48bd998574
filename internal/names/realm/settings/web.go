package settings

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// WebPorts bounds the different ports, of TCP and UDP together, at which web names are.
const WebPorts = 16

// Web is what `web` says.
type Web interface {
	Given() bool // whether there are web addresses
	QUIC() bool  // whether names are read from UDP, too
}

// webNames finds out which names are web names: those of which all ports are ones at which a name is read from the
// connection. A name that opens anything else has to lead there, too, and has one address.
type webNames struct {
	web   Web
	ports map[uint32]bool // that web names have, by model.Port.Key
	told  bool            // that there are too many
}

// usual reports whether a port is of the web unless a service says otherwise.
func (w *webNames) usual(p model.Port) bool {
	switch p.Protocol {
	case model.TCP:
		return p.Port == 80 || p.Port == httpsPort
	case model.UDP:
		return p.Port == httpsPort && w.web.QUIC()
	}
	return false
}

// ofName reports whether a name that opens some ports is a web name by them alone.
func (w *webNames) ofName(ports []schema.At[model.Port]) bool {
	return w.web.Given() && len(ports) > 0 && !slices.ContainsFunc(ports, func(p schema.At[model.Port]) bool { return !w.usual(p.Value) })
}

// ofService reports whether a service's names are web names: as it says, or by its ports.
func (w *webNames) ofService(faults *schema.Faults, s *serviceEntry, path string) bool {
	switch {
	case s.web.Line == 0:
		return w.ofName(s.opened())
	case !s.web.Value:
		return false
	case !w.web.Given():
		faults.Add(s.web.Line, "%s.web: there is no web.addresses: give addresses for names of the web", path)
		return false
	}
	for _, p := range s.opened() {
		switch p.Value.Protocol {
		case model.ICMP:
			faults.Add(p.Line, "%s: the service is web, and icmp has no names: open it by another name", path)
			return false
		case model.UDP:
			if !w.web.QUIC() {
				faults.Add(p.Line, "%s: the service is web, and names are read from %s only with web.quic: true", path, p.Value)
				return false
			}
		}
	}
	return len(s.opened()) > 0
}

// redirectKey is where requests of HTTP are led.
func redirectKey(to *schema.At[string]) schema.Key {
	return schema.OneAt("redirect", &to.Value, &to.Line, schema.OneOf("https")).Otherwise("nowhere")
}

// redirects reports whether requests of HTTP for names with these ports are led to https.
func (w *webNames) redirects(faults *schema.Faults, to schema.At[string], isWeb bool, ports []schema.At[model.Port], path string) bool {
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

// count bounds the ports of web names.
func (w *webNames) count(faults *schema.Faults, ports []schema.At[model.Port], path string) {
	for _, p := range ports {
		w.ports[p.Value.Key()] = true
		if len(w.ports) > WebPorts && !w.told {
			faults.Add(p.Line, "%s: %s/%d is one port of web names too many: at most %d different ones are allowed", path, p.Value.Protocol, p.Value.Port, WebPorts)
			w.told = true // one error says enough
		}
	}
}

// WebPorts are the ports of TCP and of UDP at which web names are, in order, each once.
func (hosts Hosts) WebPorts() (tcp, udp []uint16) {
	note := func(ports []model.Port) {
		for _, p := range ports {
			if p.Protocol == model.TCP {
				tcp = append(tcp, p.Port)
			} else {
				udp = append(udp, p.Port)
			}
		}
	}
	for _, h := range hosts {
		if h.Web {
			note(h.Open)
		}
		for _, s := range h.Services {
			if s.Web {
				note(s.Ports)
			}
		}
	}
	sorted := func(ports []uint16) []uint16 {
		slices.Sort(ports)
		return slices.Compact(ports)
	}
	return sorted(tcp), sorted(udp)
}
