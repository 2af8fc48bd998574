package registry

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestAboveKnowsWhatHasNamesBelow(t *testing.T) {
	r, err := New([]model.Name{"foo.example."}, []Host{
		{Name: "hosta.foo.example.", Address: netip.MustParseAddr("10.0.0.1"), Services: []Service{{Name: "www.hosta.foo.example.", Protocol: model.TCP, Port: 80, To: 80}}},
		{Name: "hostb.foo.example.", Address: netip.MustParseAddr("10.0.0.2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[model.Name]bool{"hosta.foo.example.": true, "hostb.foo.example.": false, "www.hosta.foo.example.": false} {
		if got := r.Above(name); got != want {
			t.Errorf("names below %s: %v", name, got)
		}
	}
}
