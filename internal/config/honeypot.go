package config

import (
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Honeypot is ports at which nobody outside has anything to do, and for how long is banned
// who completes a TCP handshake there.
type Honeypot struct {
	Ports model.PortSet // empty: there is none
	Ban   time.Duration // 1s to 8760h
}

// portsDraft are ports by protocol.
type portsDraft struct {
	tcp, udp []schema.At[model.Ports]
	given    int // the line of one of them
}

func (d *portsDraft) keys() []schema.Key {
	return []schema.Key{schema.Noting(&d.given, schema.Many("tcp", &d.tcp, schema.PortRange(), 1)), schema.Noting(&d.given, schema.Many("udp", &d.udp, schema.PortRange(), 1))}
}

func (d *portsDraft) set() (s model.PortSet) {
	for _, p := range d.tcp {
		s.TCP = append(s.TCP, p.Value)
	}
	for _, p := range d.udp {
		s.UDP = append(s.UDP, p.Value)
	}
	return s
}

// each calls f for every range.
func (d *portsDraft) each(f func(model.Protocol, schema.At[model.Ports])) {
	for _, p := range d.tcp {
		f(model.TCP, p)
	}
	for _, p := range d.udp {
		f(model.UDP, p)
	}
}

type honeypotDraft struct {
	ports portsDraft
	ban   time.Duration
	line  int
}

func (d *honeypotDraft) keys() []schema.Key {
	return append(d.ports.keys(), schema.One("ban", &d.ban, schema.Duration(second, model.LongestBan)))
}

// finishHoneypot checks that no port of the honeypot is used for anything else.
func (d *draft) finishHoneypot() {
	p := &d.protection
	p.protection.Ignored, p.protection.Monitored = p.ignored.set(), p.monitored.set()
	p.protection.Honeypot = Honeypot{p.honeypot.ports.set(), p.honeypot.ban}
	if p.honeypot.line > 0 && p.honeypot.ports.given == 0 {
		d.faults.Add(p.honeypot.line, "%s.honeypot: give the ports: tcp, udp or both", ProtectionName)
	}
	p.honeypot.ports.each(func(protocol model.Protocol, port schema.At[model.Ports]) {
		clash := func(other model.Ports, whose string, args ...any) {
			if other.First <= port.Value.Last && port.Value.First <= other.Last {
				d.faults.Add(port.Line, "%s.honeypot.%s: %s: %s", ProtectionName, protocol, port.Value, fmt.Sprintf(whose, args...))
			}
		}
		p.ignored.each(func(other model.Protocol, ignored schema.At[model.Ports]) {
			if other == protocol {
				clash(ignored.Value, "ignored_ports.%s has %s at line %d", protocol, ignored.Value, ignored.Line)
			}
		})
		for _, h := range d.hosts {
			opened := func(whose string, ports []schema.At[model.Port]) {
				for _, p := range ports {
					if p.Value.Protocol == protocol {
						clash(model.Ports{First: p.Value.Port, Last: p.Value.Port}, "%s %s is at port %d, line %d", whose, h.host.Name, p.Value.Port, p.Line)
					}
				}
			}
			opened("the name", h.open.ports)
			for _, s := range h.services {
				opened("a service of", s.opened())
			}
		}
		dns := d.config.DNS.Public.Port()
		clash(model.Ports{First: dns, Last: dns}, "the name server is at port %d", dns)
		for _, c := range d.chains {
			for _, m := range c.matches {
				if m.portLine > 0 && m.match.Protocol == protocol && d.sends(c, map[string]bool{}) {
					clash(m.match.Ports, "chain %s sends port %s on, line %d", c.chain.Name, m.match.Ports, m.portLine)
				}
			}
		}
	})
}
