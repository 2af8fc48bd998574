package nf

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

// Whatever the sets of ports are, the order holds: what is ignored is asked of neither
// honeypot nor geofence, the honeypot is asked about all others that come from outside,
// and the geofence about those that are monitored, of either direction.
func TestPortsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const honeypot, geofence = 3, 4
	fenced := Addresses{Fenced: setOf("203.0.113.0/24")}
	rapid.Check(t, func(r *rapid.T) {
		drawn := func(name string) (list []model.Ports) {
			for range rapid.IntRange(0, 3).Draw(r, name) {
				first := rapid.Uint16Range(1, 300).Draw(r, "first")
				list = append(list, model.Ports{First: first, Last: first + rapid.Uint16Range(0, 150).Draw(r, "more")})
			}
			return list
		}
		set := func(name string) model.PortSet { return model.PortSet{TCP: drawn(name), UDP: drawn(name)} }
		p := Ports{Ignored: set("ignored"), Honeypot: set("honeypot"), Monitored: set("monitored")}
		b.putPolicy(Policy{Protection: []Step{
			{Name: "allowlist", Number: 1, Function: Allowlist{Remote{In: fenced, Out: fenced}}},
			{Name: "ports", Number: 2, Function: p},
			{Name: "honeypot", Number: honeypot, Function: Honeypot{}},
			{Name: "geofence", Number: geofence, Function: Geofence{}},
		}})
		for range 20 {
			out, protocol := rapid.Bool().Draw(r, "out"), rapid.SampledFrom([]model.Protocol{model.TCP, model.UDP, model.ICMP}).Draw(r, "protocol")
			asked := probe(protocol, "203.0.113.1")
			asked.Port = rapid.Uint16Range(1, 500).Draw(r, "private port")
			if asked.PublicPort = rapid.Uint16Range(1, 500).Draw(r, "port"); out {
				asked.Direction, asked.Source, asked.Destination = model.Out, asked.Destination, asked.Source
			}
			want := said{verdict: drop}
			switch has := func(s model.PortSet) bool { return s.Has(protocol, asked.PublicPort) }; {
			case has(p.Ignored):
				want.verdict = accept
			case has(p.Honeypot) && !out:
				want.function = honeypot
			case !p.Monitored.Empty() && !has(p.Monitored) && protocol != model.ICMP:
				want.verdict = accept
			default:
				want.function = geofence
			}
			if got := b.classify(asked.sent()); got != want {
				r.Fatalf("%s port %d, out %t: %+v, want %+v", protocol, asked.PublicPort, out, got, want)
			}
		}
	})
}
