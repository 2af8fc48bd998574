package registry

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// branches has names below others, of the same service and of others.
func branches(t *testing.T) *Registry {
	t.Helper()
	r, err := New([]model.Name{"foo.example.", "sub.foo.example."}, []HostSpec{
		host("hosta.foo.example.", "10.0.0.1", nil, service("tcp/80", "www.hosta.foo.example.", "a.www.hosta.foo.example.")),
		host("hostb.foo.example.", "10.0.0.2", ports("tcp/80"), service("tcp/80", "x.y.hostb.foo.example.", "*.hostb.foo.example.")),
		host("hostc.foo.example.", "10.0.0.3", ports("tcp/80"), service("tcp/81", "*.hostc.foo.example.")),
		host("hostd.foo.example.", "10.0.0.4", nil, service("tcp/80", "foo.example."), service("tcp/22", "s.sub.foo.example.")),
	}, "ns.hostb.foo.example.")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAboveKnowsWhatIsOnTheWayToOthers(t *testing.T) {
	r := branches(t)
	for name, want := range map[model.Name]bool{
		"hosta.foo.example.": true, "www.hosta.foo.example.": false, "hostb.foo.example.": false, "hostc.foo.example.": true,
		"hostd.foo.example.": false, "foo.example.": true, "y.hostb.foo.example.": false, "q.hostc.foo.example.": false,
	} {
		if got := r.Above(name); got != want {
			t.Errorf("other names below %s: %v", name, got)
		}
	}
}

func TestLent(t *testing.T) {
	r := branches(t)
	for zone, want := range map[model.Name][]model.Name{
		"foo.example.": {
			"*.hostb.foo.example.", "*.hostc.foo.example.", "a.www.hosta.foo.example.", "foo.example.", "hostb.foo.example.",
			"hostc.foo.example.", "www.hosta.foo.example.", "x.y.hostb.foo.example.",
		},
		"sub.foo.example.": {"s.sub.foo.example."},
		"bar.example.":     nil,
	} {
		if got := r.Lent(zone); !slices.Equal(got, want) {
			t.Errorf("%s: %v", zone, got)
		}
	}
}
