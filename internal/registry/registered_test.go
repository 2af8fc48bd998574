package registry

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func laptop(name string, last byte) HostSpec {
	return HostSpec{
		Name: model.Name(name + ".foo.example."), Address: netip.AddrFrom4([4]byte{10, 0, 9, last}), Open: []model.Port{{Protocol: model.TCP, Port: 22, To: 22}},
		Services: []ServiceSpec{{Names: []model.Name{model.Name("www." + name + ".foo.example.")}, Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 80}}}},
	}
}

// Hosts that come are found by all that finds hosts, in every snapshot beside which they are, and are gone when they go.
func TestRegistered(t *testing.T) {
	static, err := New([]model.Name{"foo.example."}, []HostSpec{
		{Name: "foo.example.", Address: netip.MustParseAddr("10.0.0.1"), Open: []model.Port{{Protocol: model.TCP, Port: 80, To: 80}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	g := NewRegistered()
	r := static.With(g)
	look := func() (found []string) {
		for _, name := range []model.Name{"laptop.foo.example.", "www.laptop.foo.example.", "x.laptop.foo.example.", "foo.example."} {
			if e, ok := r.Lookup(name); ok {
				found = append(found, fmt.Sprintf("%s of %s opens %v, above others %v", name, e.Host.Name, e.Service != nil, r.Above(name)))
			}
		}
		return found
	}
	only := []string{"foo.example. of foo.example. opens true, above others false"}
	if got := look(); !slices.Equal(got, only) {
		t.Errorf("%q", got)
	}
	if _, err := g.Put("foo.example.", laptop("laptop", 7)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"laptop.foo.example. of laptop.foo.example. opens true, above others true",
		"www.laptop.foo.example. of laptop.foo.example. opens true, above others false",
		"foo.example. of foo.example. opens true, above others true",
	}
	if got := look(); !slices.Equal(got, want) || static.Above("foo.example.") {
		t.Errorf("%q", got)
	}
	if h, ok := r.ByAddress(netip.MustParseAddr("10.0.9.7")); !ok || h.Name != "laptop.foo.example." || g.Len() != 1 || g.Lendable() != 2 || len(g.Hosts()) != 1 {
		t.Errorf("%v, %d hosts", h, g.Len())
	}
	if s, ok := g.Service("www.laptop.foo.example."); !ok || !slices.Equal(s.Zones, []model.Name{"foo.example."}) {
		t.Errorf("%+v", s)
	}
	if !r.Exists("laptop.foo.example.") || static.Exists("laptop.foo.example.") {
		t.Error("it exists where it is not, or the other way round")
	}
	if g.Remove("foo.example.", "www.laptop.foo.example.") != nil || g.Remove("foo.example.", "nobody.foo.example.") != nil {
		t.Error("who is no host was removed")
	}
	if h := g.Remove("foo.example.", "laptop.foo.example."); h == nil || len(h.Services) != 2 {
		t.Errorf("%v", h)
	}
	if got := look(); !slices.Equal(got, only) || g.Len()+g.Lendable() > 0 {
		t.Errorf("%q, %d hosts are left", got, g.Len())
	}
}

// What is somebody's is nobody else's, and of who is refused nothing stays.
func TestRegisteredTakesNothingTwice(t *testing.T) {
	g := NewRegistered()
	if _, err := g.Put("foo.example.", laptop("laptop", 7)); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []HostSpec{laptop("laptop", 8), laptop("other", 7), {Name: "x.bar.example.", Address: netip.MustParseAddr("10.0.9.9")}, {Name: "x.foo.example."}} {
		if h, err := g.Put("foo.example.", spec); err == nil {
			t.Errorf("%+v is taken", h)
		}
	}
	if _, err := g.Put("foo.example.", laptop("other", 8)); err != nil || g.Len() != 2 {
		t.Errorf("%d hosts: %v", g.Len(), err)
	}
}
