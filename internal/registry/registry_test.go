package registry

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

var zones = []model.Name{"foo.example.", "sub.foo.example."}

// ports reads ports of a test, as "tcp/80 icmp"; nothing where there are none.
func ports(text string) (list []model.Port) {
	for _, field := range strings.Fields(text) {
		more, err := model.ParsePorts(field)
		if err != nil {
			panic(err)
		}
		list = append(list, more...)
	}
	return list
}

func service(opens string, names ...model.Name) ServiceSpec {
	return ServiceSpec{Names: names, Ports: ports(opens)}
}

func host(name model.Name, address string, open []model.Port, services ...ServiceSpec) HostSpec {
	return HostSpec{Name: name, Address: netip.MustParseAddr(address), Open: open, Services: services}
}

func hosts() []HostSpec {
	return []HostSpec{
		host("hosta.foo.example.", "10.0.0.100", ports("tcp/22 icmp"),
			service("tcp/80:8080", "www.hosta.foo.example."),
			service("udp/53", "a.b.c.foo.example."),
			service("tcp/443 tcp/80:8080", "shop.sub.foo.example.", "foo.example.")),
		host("x.y.sub.foo.example.", "10.0.0.101", nil),
		host("hostc.foo.example.", "10.0.0.102", ports("all"), service("tcp/22", "c.foo.example.")),
	}
}

func build(t *testing.T) *Registry {
	t.Helper()
	r, err := New(zones, hosts(), "ns.in.sub.foo.example.", "ns.elsewhere.example.")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLookup(t *testing.T) {
	r := build(t)
	for _, c := range []struct {
		name, host, service model.Name
		exists              bool
	}{
		{"hosta.foo.example.", "hosta.foo.example.", "hosta.foo.example.", true},
		{"www.hosta.foo.example.", "hosta.foo.example.", "www.hosta.foo.example.", true},
		{"a.b.c.foo.example.", "hosta.foo.example.", "a.b.c.foo.example.", true},
		{"shop.sub.foo.example.", "hosta.foo.example.", "www.hosta.foo.example.", true}, // one with www
		{"foo.example.", "hosta.foo.example.", "www.hosta.foo.example.", true},          // an apex
		{"x.y.sub.foo.example.", "x.y.sub.foo.example.", "", true},                      // closed
		{"hostc.foo.example.", "hostc.foo.example.", "hostc.foo.example.", true},
		{"b.c.foo.example.", "", "", true}, // empty non-terminals
		{"c.foo.example.", "hostc.foo.example.", "c.foo.example.", true},
		{"y.sub.foo.example.", "", "", true},
		{"sub.foo.example.", "", "", true},
		{"ns.in.sub.foo.example.", "", "", true},
		{"in.sub.foo.example.", "", "", true},
		{"elsewhere.example.", "", "", false},
		{"example.", "", "", false},
		{"other.foo.example.", "", "", false},
		{"d.b.c.foo.example.", "", "", false},
		{"wwwhosta.foo.example.", "", "", false},
		{"", "", "", false},
	} {
		e, ok := r.Lookup(c.name)
		if ok != (c.host != "") || r.Exists(c.name) != c.exists {
			t.Errorf("%s: found %v, exists %v", c.name, ok, r.Exists(c.name))
		}
		if !ok {
			continue
		}
		if e.Name != c.name || e.Host.Name != c.host || (e.Service != nil) != (c.service != "") || e.Service != nil && e.Service.Name != c.service {
			t.Errorf("%s: %+v %+v", c.name, e.Host, e.Service)
		}
	}
}

// What is open of each host, whole.
func TestServices(t *testing.T) {
	r := build(t)
	a, c := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("10.0.0.102")
	want := []*Service{
		{
			Name: "hosta.foo.example.", Names: []model.Name{"hosta.foo.example."}, Owner: "hosta.foo.example.", Zones: zones[:1],
			Host: a, Ports: ports("icmp tcp/22"),
		},
		{
			Name: "www.hosta.foo.example.", Names: []model.Name{"www.hosta.foo.example.", "shop.sub.foo.example.", "foo.example."},
			Owner: "hosta.foo.example.", Zones: zones, Host: a, Ports: ports("tcp/80:8080 tcp/443"),
		},
		{
			Name: "a.b.c.foo.example.", Names: []model.Name{"a.b.c.foo.example."}, Owner: "hosta.foo.example.", Zones: zones[:1],
			Host: a, Ports: ports("udp/53"),
		},
		{
			Name: "hostc.foo.example.", Names: []model.Name{"hostc.foo.example."}, Owner: "hostc.foo.example.", Zones: zones[:1],
			Host: c, Ports: ports("all"), All: true,
		},
		{
			Name: "c.foo.example.", Names: []model.Name{"c.foo.example."}, Owner: "hostc.foo.example.", Zones: zones[:1],
			Host: c, Ports: ports("tcp/22"),
		},
	}
	if got := r.Services(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for i, own := range []*Service{r.Services()[0], nil, r.Services()[3]} {
		if h := r.Hosts()[i]; h.Own != own {
			t.Errorf("%s opens %+v", h.Name, h.Own)
		}
	}
}

// The own name of a host may be one with its services, and is then the first.
func TestOwnNameMerges(t *testing.T) {
	r, err := New(zones, []HostSpec{
		host("a.sub.foo.example.", "10.0.0.1", ports("tcp/443"), service("udp/53", "dns.foo.example."), service("tcp/80 tcp/443", "www.foo.example.")),
	})
	if err != nil {
		t.Fatal(err)
	}
	own := r.Hosts()[0].Own
	if e, _ := r.Lookup("www.foo.example."); e.Service != own || own.Name != "a.sub.foo.example." || !slices.Equal(own.Zones, zones) ||
		!slices.Equal(own.Ports, ports("tcp/80 tcp/443")) || len(r.Services()) != 2 {
		t.Errorf("%+v", own)
	}
}

// Names were once compared by their ends alone: evilfoo.example. was in
// foo.example.
func TestZoneByLabel(t *testing.T) {
	r := build(t)
	for name, want := range map[model.Name]model.Name{
		"foo.example.":             "foo.example.",
		"a.foo.example.":           "foo.example.",
		"a.sub.foo.example.":       "sub.foo.example.",
		"sub.foo.example.":         "sub.foo.example.",
		"*.sub.foo.example.":       "sub.foo.example.",
		"evilsub.foo.example.":     "foo.example.",
		"evilfoo.example.":         "",
		"foo.example.evil.":        "",
		"example.":                 "",
		"*.example.":               "",
		"":                         "",
		"www.foo.example.com.":     "",
		"deep.deep.a.foo.example.": "foo.example.",
	} {
		if zone, ok := r.Zone(name); zone != want || ok != (want != "") {
			t.Errorf("%s is in %q, %v", name, zone, ok)
		}
	}
	if !slices.Equal(r.Zones(), zones) {
		t.Errorf("zones: %v", r.Zones())
	}
}

func TestByAddressAndHosts(t *testing.T) {
	r := build(t)
	if h, ok := r.ByAddress(netip.MustParseAddr("10.0.0.101")); !ok || h.Name != "x.y.sub.foo.example." {
		t.Errorf("%+v %v", h, ok)
	}
	if h, ok := r.ByAddress(netip.MustParseAddr("10.0.0.1")); ok {
		t.Errorf("%+v", h)
	}
	if hs := r.Hosts(); len(hs) != 3 || hs[0].Name != "hosta.foo.example." {
		t.Errorf("%+v", hs)
	}
}

// A snapshot does not change with what it was made from.
func TestSnapshot(t *testing.T) {
	given := hosts()
	r, err := New(zones, given)
	if err != nil {
		t.Fatal(err)
	}
	given[0].Open[0], given[0].Services[0].Ports[0].To, given[0].Services[0].Names[0] = model.Port{}, 1, "x."
	given[2].Open[0], given[0].Name = model.Port{Protocol: model.ICMP}, "x."
	if want := build(t); !reflect.DeepEqual(r.Services(), want.Services()) || r.Hosts()[0].Name != "hosta.foo.example." {
		t.Fatalf("%+v", r.Services())
	}
	r.Hosts()[0] = nil
	if r.Hosts()[0] == nil {
		t.Fatal("the list of hosts is shared")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func([]HostSpec)
	}{
		{"in no zone", func(h []HostSpec) { h[1].Name = "evilfoo.example." }},
		{"in no zone", func(h []HostSpec) { h[0].Services[0].Names[0] = "www.example." }},
		{"in no zone", func(h []HostSpec) { h[0].Services[2].Names[1] = "*.example." }},
		{"is taken", func(h []HostSpec) { h[1].Name = h[0].Name }},
		{"is taken", func(h []HostSpec) { h[1].Name = h[0].Services[0].Names[0] }},
		{"is taken", func(h []HostSpec) { h[0].Services[1].Names[0] = h[0].Services[0].Names[0] }},
		{"is taken", func(h []HostSpec) { h[0].Services[2].Names[1] = h[0].Services[2].Names[0] }},
		{"has the address", func(h []HostSpec) { h[1].Address = h[0].Address }},
		{"no address", func(h []HostSpec) { h[1].Address = netip.Addr{} }},
		{"host hosta.foo.example.: services [www.hosta", func(h []HostSpec) { h[0].Services[1].Ports = ports("tcp/443 tcp/80") }},
		{"everything and more", func(h []HostSpec) { h[2].Open = ports("all tcp/80") }},
	} {
		hs := hosts()
		c.change(hs)
		if _, err := New(zones, hs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
