package registry

import (
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// wild has the zone of RFC 4592 §2.2.1 as far as it has no records of its own, and what of ours is beside it.
func wild(t *testing.T) *Registry {
	t.Helper()
	r, err := New([]model.Name{"example.", "subdel.example."}, []HostSpec{
		host("host1.example.", "10.0.0.1", nil,
			service("tcp/80", "*.example.", "example."),
			service("tcp/22", "_ssh._tcp.host1.example.", "_ssh._tcp.host2.example.")),
		host("host2.example.", "10.0.0.2", ports("tcp/22"),
			service("tcp/25", "*.shop.example.", "a.shop.example."),
			service("tcp/26", "*._tcp.example.")),
		host("host3.example.", "10.0.0.3", nil),
	}, "ns.subdel.example.", "mail.shop.example.")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWildcard(t *testing.T) {
	r := wild(t)
	const none = ""
	for _, c := range []struct {
		name, found model.Name // as the configuration has it
		exists      bool
		why         string
	}{
		{"host3.example.", "host3.example.", true, "it is there"},
		{"example.", "example.", true, "an apex can be lent"},
		{"*.example.", "*.example.", true, "a wildcard is a name too (RFC 4592 §2.1.3)"},
		{"host4.example.", "*.example.", false, "synthesised"},
		{"foo.bar.example.", "*.example.", false, "any number of labels"},
		{"host1.example.", "host1.example.", true, "its own entry, closed"},
		{"_telnet._tcp.host1.example.", none, false, "_tcp.host1.example. exists (RFC 4592's example)"},
		{"_tcp.host1.example.", none, true, "an empty non-terminal exists"},
		{"x._tcp.host2.example.", none, false, "the closest encloser is an empty non-terminal without a wildcard"},
		{"x.host3.example.", none, false, "the closest encloser is a host without a wildcard"},
		{"host.subdel.example.", none, false, "a zone of its own cuts the wildcard off"},
		{"subdel.example.", none, true, "a zone exists"},
		{"ns.subdel.example.", none, true, "the name server's name exists"},
		{"x.y.shop.example.", "*.shop.example.", false, "the closest wildcard"},
		{"a.shop.example.", "a.shop.example.", true, "names that exist are their own"},
		{"x.a.shop.example.", none, false, "and cut the wildcard off below them"},
		{"mail.shop.example.", none, true, "somebody else answers for it"},
		{"x.mail.shop.example.", none, false, "nor for what is below that"},
		{"shop.example.", none, true, "the name above a wildcard exists, and is not it"},
		{"_acme-challenge.example.", none, false, "no wildcard for a name that begins with _"},
		{"_acme-challenge.x.shop.example.", none, false, "nor further up"},
		{"sel._domainkey.example.", none, false, "nor where a label between does"},
		{"sel.domainkey._x.shop.example.", none, false, "nor right below the wildcard's own"},
		{"_.example.", none, false, "an underscore alone"},
		{"a_b.example.", "*.example.", false, "inside a label it is like any other"},
		{"x._tcp.example.", "*._tcp.example.", false, "a wildcard that is itself below one with _"},
		{"example.org.", none, false, "another zone"},
		{"xexample.", none, false, "another name"},
		{"", none, false, "no name"},
	} {
		e, ok := r.Lookup(c.name)
		if ok != (c.found != none) || e.Name != c.found {
			t.Errorf("%s: found %v %q, want %q: %s", c.name, ok, e.Name, c.found, c.why)
		}
		if wild := strings.HasPrefix(string(c.found), "*.") && c.found != c.name; wild != (e.Encloser != "") || wild && e.Encloser.Wildcard() != c.found {
			t.Errorf("%s: below %q", c.name, e.Encloser)
		}
		if r.Exists(c.name) != c.exists {
			t.Errorf("%s exists: %v: %s", c.name, !c.exists, c.why)
		}
	}
}

// A wildcard and all that it answers for are one service.
func TestWildcardIsOneService(t *testing.T) {
	r := wild(t)
	first, _ := r.Lookup("x.shop.example.")
	for _, name := range []model.Name{"y.shop.example.", "a.shop.example.", "*.shop.example."} {
		if e, ok := r.Lookup(name); !ok || e.Service != first.Service || e.Service.Name != "*.shop.example." || e.Host.Name != "host2.example." {
			t.Errorf("%s: %+v", name, e.Service)
		}
	}
}
