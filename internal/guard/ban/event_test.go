package ban

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
)

// However many are banned at once, each is named by one event, which says when the last ban
// of those that it names ends. So is it with the ends of bans.
func TestEachBanIsNamedByAnEvent(t *testing.T) {
	t.Parallel()
	var told recorder
	tell := teller{&told}
	at := time.Unix(1_800_000_000, 5_999_999)
	var made []Ban
	var all []netip.Prefix
	for a := netip.MustParseAddr("100.64.0.0"); len(made) < 2*event.MostNamed+1; a = a.Next() {
		p := netip.PrefixFrom(a, 32)
		made, all = append(made, Ban{Prefix: p, Until: at.Add(time.Duration(len(made)) * time.Second), Reason: "manual"}), append(all, p)
	}
	made[7].Until = time.Time{}
	tell.banned(nil)
	tell.banned(made)
	tell.unbanned(nil, Expired)
	tell.unbanned(all, Expired)
	var got []netip.Prefix
	until := []time.Time{{}, at.Add((2*event.MostNamed - 1) * time.Second), at.Add(2 * event.MostNamed * time.Second)}
	for i, e := range told {
		var of event.Ban
		switch e := e.(type) {
		case event.Ban:
			of = e
		case event.Unban:
			of = event.Ban{Prefixes: e.Prefixes, Count: e.Count, Reason: e.Reason}
		}
		want := event.Ban{Prefixes: of.Prefixes, Count: len(of.Prefixes), Reason: Expired}
		if i < len(until) {
			want.Reason, want.Until = "manual", until[i].UTC().Truncate(time.Millisecond)
		}
		if !reflect.DeepEqual(of, want) || of.Count > event.MostNamed || (e.Kind() == "ban") != (i < len(until)) {
			t.Errorf("event %d is a %s, %+v, want %+v", i, e.Kind(), of, want)
		}
		got = append(got, of.Prefixes...)
	}
	if len(told) != 6 || !slices.Equal(got, slices.Concat(all, all)) {
		t.Errorf("%d events name %d prefixes of %d", len(told), len(got), 2*len(all))
	}
}

// recorder keeps what is told.
type recorder []event.Event

func (r *recorder) Emit(e event.Event) { *r = append(*r, e) }
