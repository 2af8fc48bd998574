package api

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestMatch(t *testing.T) {
	endpoint, address := netip.MustParseAddrPort, netip.MustParseAddr
	s := Session{
		Protocol: model.TCP, Private: endpoint("10.0.0.1:8080"), External: endpoint("198.18.0.33:80"),
		Remote: endpoint("192.0.2.9:40000"), Host: "a.example.", Name: "www.a.example.",
	}
	exact := Reservation{
		Address: address("198.18.0.33"), Protocol: model.TCP, Port: 80, Private: endpoint("10.0.0.1:8080"),
		Host: "a.example.", Name: "www.a.example.",
	}
	whole := Reservation{Address: address("198.18.0.34"), Private: endpoint("10.0.0.1:0"), Host: "a.example.", Name: "a.example."}
	h := Host{Name: "a.example.", Address: address("10.0.0.1"), Services: []Service{
		{Name: "www.a.example.", Protocol: model.TCP, Port: 80, To: 8080},
		{Name: "dns.a.example.", Protocol: model.UDP, Port: 53, To: 53},
	}}
	d := Drop{Host: "a.example.", Tuple: model.Tuple{
		Protocol: model.UDP, Source: endpoint("192.0.2.9:53"), Destination: endpoint("198.18.0.33:1024"),
	}}
	for name, c := range map[string]struct {
		filter                             Filter
		session, exact, whole, host, drops bool
	}{
		"nothing asked":     {Filter{}, true, true, true, true, true},
		"private address":   {Filter{Address: address("10.0.0.1")}, true, true, true, true, false},
		"external address":  {Filter{Address: address("198.18.0.33")}, true, true, false, false, true},
		"remote address":    {Filter{Address: address("192.0.2.9")}, true, false, false, false, true},
		"no one's address":  {Filter{Address: address("10.0.0.2")}, false, false, false, false, false},
		"outside port":      {Filter{Port: 80}, true, true, true, true, false},
		"inside port":       {Filter{Port: 8080}, true, true, true, true, false},
		"source port":       {Filter{Port: 53}, false, false, true, true, true},
		"tcp":               {Filter{Protocol: model.TCP}, true, true, true, true, false},
		"udp":               {Filter{Protocol: model.UDP}, false, false, true, true, true},
		"icmp":              {Filter{Protocol: model.ICMP}, false, false, true, false, false},
		"udp 80":            {Filter{Protocol: model.UDP, Port: 80}, false, false, true, false, false},
		"host":              {Filter{Host: "a.example."}, true, true, true, true, true},
		"service":           {Filter{Host: "www.a.example."}, true, true, false, true, false},
		"service, not port": {Filter{Host: "www.a.example.", Port: 53}, false, false, false, false, false},
		"stranger":          {Filter{Host: "b.example."}, false, false, false, false, false},
	} {
		for what, pair := range map[string][2]bool{
			"session": {c.filter.MatchSession(s), c.session}, "exact reservation": {c.filter.MatchReservation(exact), c.exact},
			"whole reservation": {c.filter.MatchReservation(whole), c.whole}, "host": {c.filter.MatchHost(h), c.host},
			"drop": {c.filter.MatchDrop(d), c.drops},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %s matches: %t, want %t", name, what, pair[0], pair[1])
			}
		}
	}
}
