package capture

import (
	"net/netip"
	"os"
	"regexp"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// Each reason of the reference, which has them all, is said in words, and no other.
func TestEachReasonInWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/counters.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(drop_[a-z0-9_]+)`").FindAllSubmatch(text, -1)
	for _, row := range rows {
		if inWords[model.Reason(row[1])] == "" {
			t.Errorf("%s has no words", row[1])
		}
	}
	if len(rows) != len(inWords) || len(rows) < 60 {
		t.Errorf("%d reasons have words, and the reference has %d", len(inWords), len(rows))
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	tuple := model.Tuple{Protocol: model.TCP, Source: netip.MustParseAddrPort("192.0.2.9:40000"), Destination: netip.MustParseAddrPort("198.18.0.40:22")}
	for _, c := range []struct {
		reason model.Reason
		tuple  model.Tuple
		want   string
	}{
		{model.ReasonDropNoReservation, tuple, "198.18.0.40 is lent to nobody that 192.0.2.9 could be"},
		{model.ReasonDropNoBinding, tuple, "no service is at 198.18.0.40:22"},
		{model.ReasonDropNoBinding, model.Tuple{Protocol: model.ICMP, Source: tuple.Source, Destination: tuple.Destination}, "no service is at 198.18.0.40"},
		{model.ReasonDropSpoofedSource, model.Tuple{}, "its sender does not send from that side"},
		{model.ReasonDropTCPFlags, tuple, "TCP flags that no sender sets"},
	} {
		if got := words(api.Drop{Reason: c.reason, Tuple: c.tuple}); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}
