package registry

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

var zones = []model.Name{"foo.example.", "sub.foo.example."}

func hosts() []Host {
	again := time.Second
	return []Host{
		{
			Name: "hosta.foo.example.", Address: netip.MustParseAddr("10.0.0.100"),
			Services: []Service{
				{Name: "www.hosta.foo.example.", Protocol: model.TCP, Port: 80, To: 8080, Again: &again},
				{Name: "a.b.c.foo.example.", Protocol: model.UDP, Port: 53, To: 53},
			},
		},
		{Name: "x.y.sub.foo.example.", Address: netip.MustParseAddr("10.0.0.101")},
	}
}

func build(t *testing.T) *Registry {
	t.Helper()
	r, err := New(zones, hosts())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLookup(t *testing.T) {
	r := build(t)
	for _, c := range []struct {
		name, host model.Name
		port       uint16 // 0 is a host name
		exists     bool
	}{
		{"hosta.foo.example.", "hosta.foo.example.", 0, true},
		{"www.hosta.foo.example.", "hosta.foo.example.", 80, true},
		{"a.b.c.foo.example.", "hosta.foo.example.", 53, true},
		{"x.y.sub.foo.example.", "x.y.sub.foo.example.", 0, true},
		{"b.c.foo.example.", "", 0, true}, // empty non-terminals
		{"c.foo.example.", "", 0, true},
		{"y.sub.foo.example.", "", 0, true},
		{"foo.example.", "", 0, true},
		{"sub.foo.example.", "", 0, true},
		{"example.", "", 0, false},
		{"other.foo.example.", "", 0, false},
		{"d.b.c.foo.example.", "", 0, false},
		{"wwwhosta.foo.example.", "", 0, false},
		{"", "", 0, false},
	} {
		e, ok := r.Lookup(c.name)
		if ok != (c.host != "") || r.Exists(c.name) != c.exists {
			t.Errorf("%s: found %v, exists %v", c.name, ok, r.Exists(c.name))
		}
		if !ok {
			continue
		}
		if e.Name != c.name || e.Host.Name != c.host || (e.Service != nil) != (c.port != 0) || e.Service != nil && e.Service.Port != c.port {
			t.Errorf("%s: %+v", c.name, e)
		}
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
		"evilsub.foo.example.":     "foo.example.",
		"evilfoo.example.":         "",
		"foo.example.evil.":        "",
		"example.":                 "",
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
	if hs := r.Hosts(); len(hs) != 2 || hs[0].Name != "hosta.foo.example." {
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
	given[0].Services[0].Port = 1
	*given[0].Services[0].Again = 0
	given[0].Name = "x."
	e, _ := r.Lookup("www.hosta.foo.example.")
	if e.Service.Port != 80 || *e.Service.Again != time.Second || e.Host.Name != "hosta.foo.example." {
		t.Fatalf("%+v %+v", e.Host, e.Service)
	}
	r.Hosts()[0] = nil
	if r.Hosts()[0] == nil {
		t.Fatal("the list of hosts is shared")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func([]Host)
	}{
		{"in no zone", func(h []Host) { h[1].Name = "evilfoo.example." }},
		{"in no zone", func(h []Host) { h[0].Services[0].Name = "www.example." }},
		{"is taken", func(h []Host) { h[1].Name = h[0].Name }},
		{"is taken", func(h []Host) { h[1].Name = h[0].Services[0].Name }},
		{"is taken", func(h []Host) { h[0].Services[1].Name = h[0].Services[0].Name }},
		{"has the address", func(h []Host) { h[1].Address = h[0].Address }},
		{"no address", func(h []Host) { h[1].Address = netip.Addr{} }},
	} {
		hs := hosts()
		c.change(hs)
		if _, err := New(zones, hs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
