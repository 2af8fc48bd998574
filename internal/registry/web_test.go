package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func site(opens string, names ...model.Name) ServiceSpec {
	s := service(opens, names...)
	s.Web = true
	return s
}

// mixed has a host with web names beside others, whose ports they share.
func mixed(t *testing.T) *Registry {
	t.Helper()
	r, err := New(zones, []HostSpec{
		host("hosta.foo.example.", "10.0.0.1", ports("tcp/22 tcp/443"),
			site("tcp/443", "www.foo.example.", "*.www.foo.example."), site("tcp/443:444", "b.foo.example."), service("tcp/22", "s.sub.foo.example.")),
		{Name: "hostb.foo.example.", Address: hosts()[1].Address, Open: ports("tcp/80"), Web: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Web names share ports with nobody: what the host's own name opens stays apart, and the same port may lead elsewhere.
func TestWebServicesStayApart(t *testing.T) {
	r := mixed(t)
	names := func(list []*Service) (names []model.Name) {
		for _, s := range list {
			names = append(names, s.Name)
		}
		return names
	}
	if got := names(r.Lendable()); !slices.Equal(got, []model.Name{"hosta.foo.example."}) { // one with s.sub: they share tcp/22
		t.Errorf("lendable: %v", got)
	}
	if got := names(r.WebServices()); !slices.Equal(got, []model.Name{"www.foo.example.", "b.foo.example.", "hostb.foo.example."}) {
		t.Errorf("web: %v", got)
	}
	if all := r.Services(); len(all) != 4 {
		t.Errorf("all: %v", names(all))
	}
	if own := r.Hosts()[1].Own; own == nil || !own.Web {
		t.Errorf("the own name of a host: %+v", own)
	}
	if got := r.Lent("foo.example."); !slices.Equal(got, []model.Name{"hosta.foo.example."}) {
		t.Errorf("lent: %v", got)
	}
	if got := r.WebNames("foo.example."); !slices.Equal(got, []model.Name{"*.www.foo.example.", "b.foo.example.", "hostb.foo.example.", "www.foo.example."}) {
		t.Errorf("web names: %v", got)
	}
}

// Who leads requests to https does so by the names that say it, and by no other.
func TestRedirectIsKept(t *testing.T) {
	led := site("tcp/80 tcp/443", "www.foo.example.")
	led.Redirect = true
	r, err := New(zones, []HostSpec{
		host("hosta.foo.example.", "10.0.0.1", nil, site("tcp/80 tcp/443", "b.foo.example."), led),
		{Name: "hostb.foo.example.", Address: hosts()[1].Address, Open: ports("tcp/80 tcp/443"), Web: true, Redirect: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[model.Name]bool{"b.foo.example.": false, "www.foo.example.": true, "hostb.foo.example.": true} {
		if entry, known := r.Lookup(name); !known || entry.Service == nil || entry.Service.Redirect != want {
			t.Errorf("%s: %+v", name, entry.Service)
		}
	}
}

func TestNewRefusesWebWithoutNames(t *testing.T) {
	for _, opens := range []string{"icmp", "tcp/443 icmp", "all"} {
		if _, err := New(zones, []HostSpec{host("a.foo.example.", "10.0.0.1", nil, site(opens, "www.foo.example."))}); err == nil || !strings.Contains(err.Error(), "no name can be read") {
			t.Errorf("%s: %v", opens, err)
		}
	}
}
