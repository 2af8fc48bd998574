package ability

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/registry"
)

// Host is one that has web names.
type Host struct {
	Name    model.Name // its own
	Address netip.Addr // private
	Sites   []Site
	// Guest is the registry's, of a host that comes and goes by itself: another one under the same name is another host. nil: it
	// is of the configuration.
	Guest *registry.Host
}

// Site is web names that open the same ports.
type Site struct {
	Names []model.Name // wildcards among them
	Ports []model.Port
}

// Can is what a host's TCP can.
type Can struct {
	datapath.WebPromise
	Scale bool // of windows, RFC 7323 section 2
}

// plainWeb is the port of HTTP without TLS, where no certificate is asked for.
const plainWeb = 80

// mostAskedNames bounds the names of an endpoint whose certificates are asked for.
const mostAskedNames = 8

// Endpoint is what is asked.
type Endpoint struct {
	To    netip.AddrPort
	TLS   bool
	Names []string // to ask certificates for, without the final dot: at most mostAskedNames
}

// endpoints are those of a host, in order.
func (h *Host) endpoints() (list []Endpoint) {
	for _, site := range h.Sites {
		for _, p := range site.Ports {
			if p.Protocol != model.TCP {
				continue
			}
			to := netip.AddrPortFrom(h.Address, p.To)
			i := slices.IndexFunc(list, func(e Endpoint) bool { return e.To == to })
			if i < 0 {
				i = len(list)
				list = append(list, Endpoint{To: to})
			}
			list[i].TLS = list[i].TLS || p.Port != plainWeb
			for _, name := range site.Names {
				if len(list[i].Names) < mostAskedNames {
					list[i].Names = append(list[i].Names, serverName(name))
				}
			}
		}
	}
	return list
}

// serverName is a name as TLS has it (RFC 6066 section 3), for a wildcard one that it answers for.
func serverName(n model.Name) string {
	text := strings.TrimSuffix(string(n), ".")
	if below, is := strings.CutPrefix(text, "*."); is {
		return "www." + below
	}
	return text
}

// secure are the names by which a host is asked over TLS: others are in no browser's connection to somebody else.
func (h *Host) secure() (names []model.Name) {
	for _, site := range h.Sites {
		if slices.ContainsFunc(site.Ports, func(p model.Port) bool { return p.Port != plainWeb }) {
			names = append(names, site.Names...)
		}
	}
	return names
}

// least is what both can.
func least(a, b datapath.WebPromise) datapath.WebPromise {
	return datapath.WebPromise{MSS: min(a.MSS, b.MSS), SACK: a.SACK && b.SACK, Timestamps: a.Timestamps && b.Timestamps}
}
