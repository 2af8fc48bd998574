package scenario

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// checkSkipped wants the share that NAT skipped of netfilter's devices that translate, and of
// no other.
func checkSkipped(t *testing.T, r bench.Report) {
	t.Helper()
	var got []string
	for _, result := range r.Results {
		if result.Metric == skippedShare {
			got = append(got, fmt.Sprintf("%s in layer %g", result.DUT, result.Parameters["layer"]))
		}
	}
	slices.Sort(got)
	if want := []string{"iptables in layer 4", "nftables in layer 4"}; !slices.Equal(got, want) {
		t.Errorf("the share of what NAT skipped is told of %q, want %q", got, want)
	}
}

func TestParseHTTPerf(t *testing.T) {
	t.Parallel()
	const out = `httperf --hog --client=0/1 --server=198.18.255.2 --port=80 --uri=/ --rate=5000
Total: connections 10000 requests 9990 replies 9980 test-duration 2.000 s

Connection rate: 4999.8 conn/s (0.2 ms/conn, <=12 concurrent connections)
Reply rate [replies/s]: min 0.0 avg 0.0 max 0.0 stddev 0.0 (0 samples)
Errors: total 20 client-timo 10 socket-timo 0 connrefused 0 connreset 10
Errors: fd-unavail 1 addrunavail 2 ftab-full 3 other 0
`
	r, err := parseHTTPerf(out)
	if err != nil || r.opened != 4999.8 || r.replies != 4990 || r.unable != 6 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := parseHTTPerf("httperf: usage"); err == nil {
		t.Error("what has no totals is read")
	}
}

// A client that is not done in time makes its trial invalid, and does not end the run.
func TestHTTPerfThatIsLate(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	r, err := ask(over, exec.CommandContext(over, "sleep", "60").CombinedOutput)
	if err != nil || !r.late || !strings.Contains(r.opening(5000), "not done") {
		t.Errorf("%+v, %v: %s", r, err, r.opening(5000))
	}
	for _, c := range []struct {
		out string
		err error
	}{{"httperf: failed to connect", errors.New("exit status 1")}, {"httperf: usage", nil}} {
		if r, err := ask(t.Context(), func() ([]byte, error) { return []byte(c.out), c.err }); err == nil || !strings.Contains(err.Error(), c.out) || r.late {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestOfferedWithoutAStop: what is offered at a rate is sent before the kernel stops the tester.
func TestOfferedWithoutAStop(t *testing.T) {
	t.Parallel()
	bed := &bench.Bed{Tester: &bench.Tester{}}
	bed.Tester.Flows = trafficgen.Flows{
		Sources: trafficgen.Addresses{Count: 100}, SourcePorts: trafficgen.Ports{Count: 1000},
		Destinations: trafficgen.Addresses{Count: 1}, DestinationPorts: trafficgen.Ports{Count: 1},
	}
	for rate, want := range map[float64]int{30_000: 27_000, 100_000: 90_000, 200_000: 100_000} {
		if p := offerAt(bed, rate); p.Frames != want || p.Rate != rate {
			t.Errorf("at %.0f/s: %d at %.0f/s, want %d", rate, p.Frames, p.Rate, want)
		}
	}
}

// TestRatesBeyondTheClient: each device has a trial at every rate, and no other where the client cannot follow.
func TestRatesBeyondTheClient(t *testing.T) {
	t.Parallel()
	c := &httpClient{best: 10_000, trials: map[float64]int{5_000: 4, 11_000: 4, 20_000: 4, 30_000: 3}, devices: 4}
	for rate, want := range map[float64]bool{5_000: false, 11_000: false, 20_000: true, 30_000: false} {
		if got := c.beyond(rate); got != want {
			t.Errorf("%.0f is beyond: %t, want %t", rate, got, want)
		}
	}
}
