package settings

import (
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Host is a machine of the private realm that can be reached by name.
type Host struct {
	Name     model.Name   // in a zone; no two names of hosts and services are the same
	Address  netip.Addr   // IPv4, unique
	OneToOne netip.Addr   // a public address that is the host's alone; may be invalid
	Open     []model.Port // what its own name opens: nothing, everything ({AnyProtocol} alone), or 1 to 1024 ports
	Web      bool         // its own name is a web name
	Redirect bool         // requests of HTTP for its own name are led to https
	Services []Service
}

// Service is what names of a host, beside its own, stand for.
type Service struct {
	Names []model.Name // one or more, in zones; wildcards among them
	Ports []model.Port // 1 to 1024, each protocol and port once; never everything
	Web   bool         // the names are web names: their ports are TCP's, or UDP's with web.quic
	NoWeb bool         // it was said that they are none
	// Redirect says that requests of HTTP are led to https.
	Redirect bool
	HTTPS    *HTTPS // nil: no HTTPS record is published
}

// HTTPS says where a browser finds "https://name/" (RFC 9460).
type HTTPS struct {
	Port uint16 // outside, of TCP, one of the service's
	ALPN []string
}

type hostEntry struct {
	host                  Host
	open                  portList
	services              []*serviceEntry
	nameLine, addressLine int
	oneToOneLine          int
	redirect              schema.At[string]
}

// serviceEntry is a service in either form: one name or several, one port or several.
type serviceEntry struct {
	schema.Begun
	name                           model.Name
	nameAt                         int // of a good name
	more                           []schema.At[model.Name]
	nameLine, namesLine            int
	protocol                       model.Protocol
	port, to                       uint16
	protocolLine, portLine, toLine int
	ports                          portList
	protocolGood, portGood, toGood int
	web                            schema.At[bool]
	redirect                       schema.At[string]
	https                          HTTPS
	httpsLine                      int
	alpn                           []schema.At[string]
}

func (h *hostEntry) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &h.host.Name, &h.nameLine, schema.Domain()).Must(),
		schema.OneAt("address", &h.host.Address, &h.addressLine, schema.Address()).Must(),
		schema.OneAt("one_to_one", &h.host.OneToOne, &h.oneToOneLine, schema.Address()).Otherwise("none"),
		openKey(&h.open),
		redirectKey(&h.redirect),
		schema.ListOf("services", &h.services, (*serviceEntry).keys),
	}
}

func (s *serviceEntry) keys() []schema.Key {
	return []schema.Key{
		schema.Noting(&s.nameLine, schema.OneAt("name", &s.name, &s.nameAt, schema.Pattern()).Otherwise("none")),
		schema.Noting(&s.namesLine, schema.Many("names", &s.more, schema.Pattern(), 1)),
		schema.Noting(&s.protocolLine, schema.OneAt("protocol", &s.protocol, &s.protocolGood, schema.Choice(model.TCP, model.UDP)).Otherwise("none")),
		schema.Noting(&s.portLine, schema.OneAt("port", &s.port, &s.portGood, schema.Port()).Otherwise("none")),
		schema.Noting(&s.toLine, schema.OneAt("to", &s.to, &s.toGood, schema.Port()).Otherwise("the port")),
		portsKey(&s.ports),
		schema.OneAt("web", &s.web.Value, &s.web.Line, schema.Boolean()).Otherwise("by its ports"),
		redirectKey(&s.redirect),
		s.httpsKey(),
	}
}

// names are the service's, in the order of the file.
func (s *serviceEntry) names() (names []schema.At[model.Name]) {
	if s.nameAt > 0 {
		names = append(names, schema.At[model.Name]{Value: s.name, Line: s.nameAt})
	}
	return append(names, s.more...)
}

// opened are the service's ports, in either form.
func (s *serviceEntry) opened() []schema.At[model.Port] {
	if s.protocolGood == 0 || s.portGood == 0 {
		return s.ports.ports
	}
	to := s.port
	if s.toGood > 0 {
		to = s.to
	}
	return append([]schema.At[model.Port]{{Value: model.Port{Protocol: s.protocol, Port: s.port, To: to}, Line: s.portGood}}, s.ports.ports...)
}

// check says what the service lacks, and what it says twice.
func (s *serviceEntry) check(faults *schema.Faults, path string) {
	if s.Line == 0 {
		return // it is no mapping
	}
	s.Either(faults, path, "name or names", s.nameLine, s.namesLine)
	single := max(s.protocolLine, s.portLine, s.toLine)
	switch {
	case s.ports.line == 0 && single == 0:
		faults.Add(s.Line, "%s: give ports, or protocol and port", path)
	case s.ports.line > 0 && single > 0:
		faults.Add(s.ports.line, "%s: give ports, or protocol, port and to, not both", path)
	case s.ports.line == 0 && s.protocolLine == 0:
		faults.Add(s.Line, "%s: the key protocol is missing", path)
	case s.ports.line == 0 && s.portLine == 0:
		faults.Add(s.Line, "%s: the key port is missing", path)
	}
}

// finish completes the host that is element i of the list.
func (h *hostEntry) finish(faults *schema.Faults, i int, web Web) Host {
	path := fmt.Sprintf("hosts[%d]", i)
	var lists [][]schema.At[model.Port]
	var paths []string
	note := func(isWeb bool, ports []schema.At[model.Port], path string) {
		if !isWeb {
			lists, paths = append(lists, ports), append(paths, path)
		}
	}
	h.host.Open, h.host.Web = schema.Values(h.open.ports), web.IsName(faults, schema.At[bool]{}, h.open.ports, path+".open")
	note(h.host.Web, h.open.ports, path+".open")
	h.host.Redirect = redirects(faults, h.redirect, h.host.Web, h.open.ports, path)
	for j, s := range h.services {
		path := fmt.Sprintf("%s.services[%d]", path, j)
		s.check(faults, path)
		isWeb := web.IsName(faults, s.web, s.opened(), path)
		note(isWeb, s.opened(), path)
		h.host.Services = append(h.host.Services, Service{Names: schema.Values(s.names()), Ports: schema.Values(s.opened()), Web: isWeb, NoWeb: s.web.Line > 0 && !s.web.Value,
			Redirect: redirects(faults, s.redirect, isWeb, s.opened(), path), HTTPS: s.finishHTTPS(faults, path)})
	}
	checkJoined(faults, lists, paths)
	return h.host
}

// checkJoined refuses services that are one, since they share a port, and contradict each other about another.
// Those that share none may: they get an address each. So may web names, which are told apart by themselves.
func checkJoined(faults *schema.Faults, lists [][]schema.At[model.Port], paths []string) {
	ports := make([][]model.Port, len(lists))
	for i, list := range lists {
		ports[i] = schema.Values(list)
	}
	for _, group := range model.Joined(ports) {
		seen := map[uint32]schema.At[model.Port]{}
		for _, i := range group {
			for _, p := range lists[i] {
				before, taken := seen[p.Value.Key()]
				if !taken {
					seen[p.Value.Key()] = p
				} else if before.Value != p.Value {
					faults.Add(p.Line, "%s: %s port %d goes to %d here and to %d at line %d, yet the two share a port, directly or through other services, which makes them one",
						paths[i], p.Value.Protocol, p.Value.Port, p.Value.To, before.Value.To, before.Line)
					break // one error for each of them says enough
				}
			}
		}
	}
}
