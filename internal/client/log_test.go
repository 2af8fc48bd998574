package client

import (
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// What is asked arrives as it was meant.
func TestTrace(t *testing.T) {
	t.Parallel()
	c := serve(t, fakeGateway{})
	at := time.Date(2026, 11, 30, 9, 12, 3, 250e6, time.FixedZone("", 3600))
	x, err := LogOf(c).Trace(t.Context(), TraceRequest{Address: netip.MustParseAddr("192.0.2.1"), Port: 40312, Protocol: model.UDP, At: at})
	if err != nil || len(x.Users) != 1 || x.Users[0].External.String() != "192.0.2.1:40312" || x.Users[0].Protocol != model.UDP || !x.Users[0].Since.Equal(at) {
		t.Errorf("%+v, %v", x, err)
	}
}

// Without following there is an end; who follows is told when there is none any more.
func TestObserve(t *testing.T) {
	t.Parallel()
	c := serve(t, fakeGateway{})
	for follow, broken := range map[bool]bool{false: false, true: true} {
		var got []string
		err := FlowsOf(c).Observe(t.Context(), ObserveRequest{Name: "www.hosta.example.", Last: -1, Follow: follow}, func() {}, func(f Flow) bool {
			got = append(got, f.Event+" "+f.Name)
			return true
		})
		if len(got) != 2 || got[1] != "destroy www.hosta.example." || (err != nil) != broken {
			t.Errorf("follow %v: %q, %v", follow, got, err)
		}
	}
}
