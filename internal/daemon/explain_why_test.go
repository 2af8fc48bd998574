package daemon

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// why is what an explanation says of a step, empty of one that it has not.
func why(x api.Explanation, step string) string {
	for _, s := range x.Steps {
		if s.Step == step {
			return s.Why
		}
	}
	return ""
}

// A backend is chosen by the port that the flow comes from: the one that is told is the one that it was chosen by.
func TestExplainTellsThePortOfMultipath(t *testing.T) {
	t.Parallel()
	r := newRig(t, text+`  - {name: hostb.foo.example., address: 10.0.0.101}
chains:
  - {name: spread, match: {direction: in, to: 198.18.0.3}, functions: [{use: multipath, backends: [{to: 10.0.0.101}]}]}
`)
	r.routed()
	f := flow{direction: model.In, protocol: model.TCP, source: netip.MustParseAddr("203.0.113.5"), destination: netip.MustParseAddr("198.18.0.3"), port: 80}
	for n, want := range []string{
		"it goes to tcp 10.0.0.101:80 when it comes from port 40000; 1 of 1 backends are up",
		"it goes to tcp 10.0.0.101:80 when it comes from port 40001; 1 of 1 backends are up",
	} {
		x, err := r.explain(api.ExplainRequest{Address: f.source, ToAddress: f.destination, Protocol: f.protocol, Port: f.port})
		if got := why(x, "dnat"); err != nil || got != want {
			t.Errorf("got %q, want %q: %v", got, want, err)
		}
		f.from = somePort + uint16(n)
		if end := r.send(true, f.packet()); end.IsDrop() {
			t.Fatal(end)
		}
	}
}
