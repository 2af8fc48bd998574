package daemon

import (
	"testing"

	"github.com/realmgate/realmgate/internal/api"
)

// Each listing of the API is some room's.
func TestListings(t *testing.T) {
	t.Parallel()
	r := newRig(t, text)
	r.mustAsk(www)
	for _, l := range api.Listings() {
		rows, err := r.Listing(l.Name, api.Filter{})
		if err != nil {
			t.Errorf("%s: %v", l.Name, err)
		}
		if names, ok := rows.([]api.Name); ok && (len(names) == 0 || names[0].Asked != 1 || names[0].Lent != 1) {
			t.Errorf("after one question: %+v", names)
		}
	}
	if _, err := r.Listing("others", api.Filter{}); err == nil {
		t.Error("something is listed that nobody knows")
	}
}
