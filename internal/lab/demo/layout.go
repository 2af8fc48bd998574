package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	labPrefix   = "demo"
	zone        = "foo.example."
	otherZone   = "bar.example."
	webPort     = 80   // what people connect to
	insidePort  = 8080 // where the hosts inside serve
	echoPort    = 7
	websiteName = "www.website.example."
)

// layOut lays the lab, starts everybody, and shows who is where.
func (s *story) layOut(ctx context.Context) error {
	if err := s.lay(netns.Options{Hosts: 2, RemoteClients: 3, Servers: 1, Resolver: true}); err != nil {
		return err
	}
	realm := s.realm
	hosts := realm.Hosts()
	s.hosta, s.hostb = person{"hosta", hosts[0]}, person{"hostb", hosts[1]}
	s.ann, s.bob, s.stranger = person{"ann", realm.RemoteClients[0]}, person{"bob", realm.RemoteClients[1]}, person{"stranger", realm.RemoteClients[2]}
	s.website, s.resolver = person{"website", realm.Servers[0]}, person{"resolver", *realm.Resolver}
	err := errors.Join(
		s.castSites(s.hosta, secureInsidePort, s.sitesOf(s.hosta)...), s.castSites(s.hostb, secureInsidePort, s.sitesOf(s.hostb)...),
		s.castEcho(s.hosta, echoPort), s.castWeb(s.hosta, insidePort), s.castWeb(s.hostb, insidePort), s.castWeb(s.website, webPort),
		s.castResolver(s.resolver, realm.Gateway.PublicAddress, websiteName, s.website.IP),
	)
	if err != nil {
		return err
	}
	s.tell.note(s.picture()...)
	s.tell.note("hosta and hostb have private addresses: nobody outside can call those.",
		fmt.Sprintf("Their web sites share the address %s. For all else the gateway", s.web()),
		fmt.Sprintf("has one single public address to lend them: %s.", s.lent()),
		"")
	for _, p := range s.everybody() {
		s.tell.see(p.name, p.IP)
	}
	s.tell.see("lent_address", s.lent())
	s.tell.see("web_address", s.web())
	if s.before, err = readSettings(s.realm.Gateway); err != nil {
		return err
	}
	return s.startGateway(ctx, s.configuration())
}

// lent is the one address of the pool.
func (s *story) lent() netip.Addr { return s.realm.Gateway.Pool.Addr().Next() }

// lentWeb is where people outside call the hosts' web servers.
func (s *story) lentWeb() netip.AddrPort { return netip.AddrPortFrom(s.lent(), webPort) }

// everybody lists those whom the story names.
func (s *story) everybody() []person {
	return []person{s.hosta, s.hostb, s.ann, s.bob, s.stranger, s.resolver, s.website}
}

// zoneOf is the zone that a host's names are in. Of one zone no two hosts have a web server at
// one address while somebody is connected there.
func zoneOf(host person) string {
	if host.name == "hostb" {
		return otherZone
	}
	return zone
}

// nameOf is the name that people outside use for a host's web server.
func nameOf(host person) string { return "www." + host.name + "." + zoneOf(host) }

func echoName(host person) string { return "echo." + host.name + "." + zoneOf(host) }

// configuration is a pool of one address, which rests for as short as can be. Who asks for
// another host waits until it has rested.
func (s *story) configuration() string {
	g := s.realm.Gateway
	text := fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [%s, %s], nameserver: ns.%[3]s}
dns: {public: "%[5]s:53", private: "%s:53", upstream: ["%s:53"]}
pool: {addresses: [%s], reservation_timeout: 1s, rest: 1s, wait: 5s}
outbound: {addresses: [%s]}
web: {addresses: [%s]}
capacity: 10000
hosts:
`, g.Public[0], g.Private[0], zone, otherZone, g.PublicAddress, g.PrivateAddress, s.resolver.IP, s.lent(), g.Outbound, s.web())
	for _, host := range []person{s.hostb, s.hosta} {
		text += fmt.Sprintf(`  - name: %s.%s
    address: %s
    services:
      - {names: [%s], ports: [tcp/%d:%d]}
      - {name: %s, protocol: tcp, port: %d, to: %d, web: false}
`, host.name, zoneOf(host), host.IP, strings.Join(s.sitesOf(host), ", "), securePort, secureInsidePort, nameOf(host), webPort, insidePort)
	}
	return text + fmt.Sprintf(`      - {name: %[1]s, protocol: udp, port: %[2]d}
chains:
  - name: echo
    match: {service: %[1]s}
    functions: [{use: dos-denial, mode: token-bucket, threshold: %[3]d/s, per: source}]
`, echoName(s.hosta), echoPort, mostEchoes)
}

// picture draws the lab in 72 columns.
func (s *story) picture() []string {
	g := s.realm.Gateway
	row := func(inside, gateway string, outside person) string {
		return fmt.Sprintf("%-19s%-25s+- %-8s %s", inside, gateway, outside.name, outside.IP)
	}
	host := func(p person) string { return fmt.Sprintf("%-5s %-10s -+", p.name, p.IP) }
	return []string{
		"",
		fmt.Sprintf("%-19s%-25s   %s", "INSIDE", "       GATEWAY", "OUTSIDE"),
		"",
		row(host(s.hosta), "", s.ann),
		row("                  +", fmt.Sprintf("- %-8s | %-10s -", g.PrivateAddress, g.PublicAddress), s.bob),
		row(host(s.hostb), fmt.Sprintf("  sites at %s", s.web()), s.stranger),
		row("", fmt.Sprintf("  lends    %s", s.lent()), s.resolver),
		row("", fmt.Sprintf("  sends as %s", g.Outbound), s.website),
		"",
	}
}

// plain writes a name as people do, without its final dot.
func plain(name string) string { return strings.TrimSuffix(name, ".") }
