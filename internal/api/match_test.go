package api

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// A host of which everything is open has every port; one that is closed has none.
func TestMatchHostWhole(t *testing.T) {
	closed := Host{Name: "a.example.", Services: []Service{}}
	whole := Host{Name: "a.example.", Open: []model.Port{{}}, Services: []Service{{Names: []string{"a.example.", "*.a.example."}, Ports: []model.Port{{}}}}}
	for name, c := range map[string]struct {
		filter        Filter
		whole, closed bool
	}{
		"nothing asked": {Filter{}, true, true},
		"name":          {Filter{Host: "a.example."}, true, true},
		"wildcard":      {Filter{Host: "*.a.example."}, true, false},
		"port":          {Filter{Port: 22}, true, false},
		"protocol":      {Filter{Protocol: model.ICMP}, true, false},
		"all of them":   {Filter{Host: "a.example.", Port: 22, Protocol: model.TCP}, true, false},
		"stranger":      {Filter{Host: "b.example.", Port: 22}, false, false},
	} {
		if got := c.filter.MatchHost(whole); got != c.whole {
			t.Errorf("%s: the open one matches: %t", name, got)
		}
		if got := c.filter.MatchHost(closed); got != c.closed {
			t.Errorf("%s: the closed one matches: %t", name, got)
		}
	}
}

func TestMatch(t *testing.T) {
	endpoint, address := netip.MustParseAddrPort, netip.MustParseAddr
	s := Session{
		Protocol: model.TCP, Private: endpoint("10.0.0.1:8080"), External: endpoint("198.18.0.33:80"),
		Remote: endpoint("192.0.2.9:40000"), Host: "a.example.", Name: "www.a.example.",
	}
	exact := Binding{
		Address: address("198.18.0.33"), Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 8080}}, Private: address("10.0.0.1"),
		Host: "a.example.", Service: "www.a.example.",
	}
	whole := Binding{Address: address("198.18.0.34"), Private: address("10.0.0.1"), Ports: []model.Port{{}}, Host: "a.example.", Service: "a.example."}
	h := Host{Name: "a.example.", Address: address("10.0.0.1"), Services: []Service{
		{Names: []string{"shop.a.example.", "www.a.example."}, Ports: []model.Port{{Protocol: model.TCP, Port: 443, To: 443}, {Protocol: model.TCP, Port: 80, To: 8080}}},
		{Names: []string{"dns.a.example."}, Ports: []model.Port{{Protocol: model.UDP, Port: 53, To: 53}}},
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
			"session": {c.filter.MatchSession(s), c.session}, "exact binding": {c.filter.MatchBinding(exact), c.exact},
			"whole binding": {c.filter.MatchBinding(whole), c.whole}, "host": {c.filter.MatchHost(h), c.host},
			"drop": {c.filter.MatchDrop(d), c.drops},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %s matches: %t, want %t", name, what, pair[0], pair[1])
			}
		}
	}
}
