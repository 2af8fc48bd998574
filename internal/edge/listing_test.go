package edge

import (
	"testing"

	"github.com/realmgate/realmgate/internal/api"
)

// Both listings have what stands, and a restart keeps it.
func TestListings(t *testing.T) {
	t.Parallel()
	a, _ := newPair(t, nil)
	answer, err := a.find(t, "hostb.b.example.")
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"at first", "after a restart"} {
		eventually(t, "the link is up "+when, func() bool { return a.Edges(api.Filter{})[0].State == "up" })
		if row := a.Edges(api.Filter{})[0]; row.Name != "edge.b.example." || row.Pacts != 1 || row.Address != a.c.Peers[0].Address.Addr() || row.Since.IsZero() {
			t.Errorf("%s: %+v", when, row)
		}
		rows := a.Pacts(api.Filter{})
		if len(rows) != 1 || rows[0].Proxy != answer.Address || rows[0].Direction != "out" || rows[0].Remote != "hostb.b.example." || rows[0].Local != "hosta.a.example." {
			t.Errorf("%s: %+v", when, rows)
		}
		if when == "at first" {
			a.restart(t)
		}
	}
}
