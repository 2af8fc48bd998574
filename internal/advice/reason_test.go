package advice

import (
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

func TestStatusWarns(t *testing.T) {
	sessions := api.Gauge{Used: 1, Capacity: 10}
	list := warnings(totals{reasons: map[model.Reason]uint64{"drop_no_route": 3, "drop_client_limit": 1}, exhausted: 1, distrusted: 1, upstreamFailed: 2},
		sessions)
	want := []string{"pool.quotas.client_sessions", "route", "pool.rest", "reputation", "dns.upstream"}
	if len(list) != len(want) {
		t.Fatal(list)
	}
	for i, word := range want {
		if !strings.Contains(list[i], word) {
			t.Errorf("%q does not mention %s", list[i], word)
		}
	}
	if list := warnings(totals{uncounted: 7}, sessions); len(list) != 1 || !strings.Contains(list[0], "7 sessions lately were counted with nobody") {
		t.Errorf("sessions that count with nobody: %q", list)
	}
	if list := warnings(totals{}, sessions); len(list) != 0 {
		t.Error(list)
	}
}

// A warning is told soon after its cause begins, and no more minutes after it
// has ended, however much was counted in all.
func TestWarningsEndWithTheirCause(t *testing.T) {
	var r recent
	said := func(now time.Duration, n uint64) int {
		return len(warnings(r.since(model.Instant(now), totals{reasons: map[model.Reason]uint64{"drop_no_route": n}, exhausted: n, distrusted: n,
			upstreamFailed: n}), api.Gauge{Capacity: 1}))
	}
	counted := func(now time.Duration) uint64 { // a cause from minute 2 to 4, on what an earlier daemon counted
		return 1000 + uint64(max(0, min(now, 4*time.Minute)-2*time.Minute)/time.Second)
	}
	for now := time.Duration(0); now < time.Hour; now += recentStep {
		n := counted(now)
		r.note(model.Instant(now), totals{reasons: map[model.Reason]uint64{"drop_no_route": n}, exhausted: n, distrusted: n, upstreamFailed: n})
		later := now + recentStep/2
		got := said(later, counted(later))
		switch {
		case later > 2*time.Minute && later < 4*time.Minute+recentSpan-recentStep && got != 4,
			(later < 2*time.Minute || later > 4*time.Minute+recentSpan) && got != 0:
			t.Fatalf("after %s: %d warnings", later, got)
		}
	}
	if len(r.kept) > int(recentSpan/recentStep)+2 {
		t.Errorf("%d moments are kept", len(r.kept))
	}
}
