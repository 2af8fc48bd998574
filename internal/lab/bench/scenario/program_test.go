package scenario

import (
	"math"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// programRuns are smoke runs of the scenarios with programs or TCP in them.
var programRuns = []struct {
	bench.Scenario
	devices []string            // that take part
	gates   map[string][]string // of a device
}{
	{nfqueue, []string{"null", "nfqueue", "iptables", "realmgate"}, map[string][]string{
		"nfqueue": {"complete", "counted", "translated", "decided once", "dropped by queues only"}, "iptables": {"complete", "counted", "translated"},
	}},
	{firstPacketVerdict, []string{"null", "realmgate", "realmgate-open", "iptables", "iptables-open", "nfqueue"}, map[string][]string{
		"realmgate": {"complete", "counted", "translated", "denied"}, "realmgate-open": {"complete", "counted", "translated"},
		"iptables": {"complete", "counted", "translated", "denied"}, "nfqueue": {"complete", "counted", "translated", "decided once"},
	}},
	{asked, []string{"null", "realmgate-ask", "realmgate", "nfqueue-each", "nfqueue", "iptables"}, map[string][]string{
		"realmgate-ask": {"complete", "counted", "translated"}, "nfqueue-each": {"complete", "counted", "translated"}, "nfqueue": {"complete", "counted", "translated"},
	}},
	{protection, []string{"null", "realmgate", "realmgate-open", "iptables", "iptables-open", "nfqueue"}, map[string][]string{
		"realmgate": {"complete", "counted", "translated"}, "realmgate-open": {"complete", "counted", "translated"},
		"iptables": {"complete", "counted", "translated"}, "nfqueue": {"complete", "counted", "translated", "decided once", "dropped by queues only"},
	}},
	{chainHops, []string{"realmgate"}, map[string][]string{"realmgate": {"asked"}}},
	{cpuPinning, []string{"null", "conntrack", "iptables", "realmgate"}, map[string][]string{
		"conntrack": {"complete", "counted", "translated"}, "realmgate": {"complete", "counted", "translated"},
	}},
	{tcpSessions, []string{"null", "route", "conntrack", "iptables", "nftables", "realmgate"}, map[string][]string{
		"route": {"complete", "translated"}, "conntrack": {"complete", "counted", "translated"},
		"iptables": {"complete", "counted", "translated", "pages"}, "realmgate": {"complete", "counted", "translated", "pages"},
	}},
	{tcpOffered, []string{"null", "route", "conntrack", "iptables", "nftables", "realmgate"}, map[string][]string{
		"route": {"translated"}, "conntrack": {"empty", "translated"}, "iptables": {"empty", "translated", "pages"}, "realmgate": {"empty", "translated", "pages"},
	}},
	{webNames, webNames.Devices, map[string][]string{
		"realmgate-tcx": {"right host", "fetched"}, "nginx": {"right host", "fetched"}, "haproxy": {"right host", "fetched"}, "splice": {"right host", "fetched"},
		"realmgate-nat-tcx": {"right host", "fetched"}, "nftables": {"right host", "fetched"}, "route": {"right host", "fetched"},
	}},
	{of(webNamesXDP, "realmgate", "realmgate-nat"), []string{"realmgate", "realmgate-nat"}, map[string][]string{"realmgate": {"right host", "fetched"}}},
	{poolAllocate, []string{"realmgate"}, map[string][]string{"realmgate": {"standing", "lent", "claimed"}}},
}

// of is a scenario with some of its devices.
func of(s bench.Scenario, devices ...string) bench.Scenario {
	s.Devices = devices
	return s
}

// Scenarios with programs or TCP in them, with few sessions: every gate that they
// have was tried and held.
func TestSmokeWithPrograms(t *testing.T) {
	program := buildProgram(t)
	for _, test := range programRuns {
		t.Run(test.Name, func(t *testing.T) {
			r, err := bench.Run(t.Context(), test.Scenario, smokeOptions(test.Scenario, program))
			if err != nil {
				t.Fatal(err)
			}
			checkDevices(t, r, test.devices)
			if test.Name == tcpOffered.Name {
				checkSkipped(t, r)
			}
			held := map[string]map[string]int{}
			for _, result := range r.Results {
				if held[result.DUT] == nil {
					held[result.DUT] = map[string]int{}
				}
				checkValues(t, result)
				for name, gate := range result.Gates {
					held[result.DUT][name] += gate.Passed
					if gate.Failed > 0 && !tolerated[name] {
						t.Errorf("%s, %s %v: %s failed %d times: %s", result.DUT, result.Metric, result.Parameters, name, gate.Failed, gate.Detail)
					}
				}
			}
			for device, gates := range test.gates {
				for _, gate := range gates {
					if held[device][gate] == 0 {
						t.Errorf("%s: nobody tried %q: %v", device, gate, held[device])
					}
				}
			}
		})
	}
}

// checkValues wants a value of every trial, also of one that was disturbed: which gates
// may say so is looked at elsewhere, and how fast a busy machine is says nothing.
func checkValues(t *testing.T, r bench.Result) {
	t.Helper()
	if len(r.Trials) == 0 {
		t.Errorf("%s, %s %v: no trial", r.DUT, r.Metric, r.Parameters)
	}
	for _, trial := range r.Trials {
		if v := float64(trial.Value); math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s, %s %v: the value of %+v is no number", r.DUT, r.Metric, r.Parameters, trial)
		}
	}
}

// tolerated are gates that a busy machine fails, as often as a trial is made again.
var tolerated = map[string]bool{"steal": true, "generator": true}
