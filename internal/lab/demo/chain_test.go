package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/oncpu"
)

// shortly is Hanna's plan in a tenth of the time, at a tenth of the rates.
func shortly() *plan {
	return &plan{
		window: time.Second, rates: [3]float64{5e6, 15e6, 10e6}, threshold: "10Mbit", attempts: 10,
		load: 10e6, rounds: 1, round: 200 * time.Millisecond,
		record: oncpu.Start,
	}
}

// Figure 7.2, packet by packet: what comes in the windows that pass arrives, each flow at
// its host, and nothing of the window after the breach.
func TestChainCutsOffWhatIsAboveTheThreshold(t *testing.T) {
	var out bytes.Buffer
	m, err := RunChain(t.Context(), ChainOptions{Out: &out, JSON: true, Executable: program, plan: shortly()})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	var results []Result
	if err := json.Unmarshal(out.Bytes(), &results); err != nil || len(results) != len(new(experiment).steps()) {
		t.Errorf("%d steps: %v\n%s", len(results), err, out.String())
	}
	if !m.Shown || m.Chains == 0 || len(m.Rounds) != 1 || len(m.Flows) != len(flowPorts) {
		t.Fatalf("measured %+v", m)
	}
	for i, f := range m.Flows {
		sent, arrived := 0, 0
		for n, p := range f.Phases {
			sent, arrived = sent+p.Sent, arrived+p.Arrived
			// A busy machine loses a packet before it comes to the gateway.
			if most := p.Sent / 100; p.Leaked > 0 || p.Lost > most || n < 2 && p.Arrived < p.Sent-p.Border-most || n == 2 && p.Arrived > p.Border {
				t.Errorf("flow %d, phase %d: %+v", i+1, n+1, p)
			}
		}
		if last := f.Phases[2]; int(f.Denied) > sent-arrived || int(f.Denied) < last.Sent-last.Border-last.Sent/100 {
			t.Errorf("flow %d: of %d packets %d arrived, and %d were denied", i+1, sent, arrived, f.Denied)
		}
		if want := shortly(); sent < (&experiment{plan: *want}).packets() || len(f.Rates) != 30 {
			t.Errorf("flow %d: %d packets sent, rates %v", i+1, sent, f.Rates)
		}
	}
	for _, u := range []Usage{m.Rounds[0].Routing, m.Rounds[0].Chain} {
		if u.Rates[0] <= 0 || u.Rates[1] <= 0 || u.Memory <= 0 {
			t.Errorf("under load: %+v", u)
		}
	}
	for _, u := range []Usage{m.Rounds[0].Idle, m.Rounds[0].Routing, m.Rounds[0].Chain} {
		if u.OnCPU.Voluntary.Total() == 0 || u.OnCPU.Seconds < shortly().round.Seconds() {
			t.Errorf("tasks on a CPU: %+v", u.OnCPU)
		}
	}
	nothingLeft(t)
}

// A function that drops nothing is not what figure 7.2 shows.
func TestChainThatDropsNothingFails(t *testing.T) {
	var out bytes.Buffer
	p := shortly()
	p.threshold = "100Mbit"
	m, err := RunChain(t.Context(), ChainOptions{Out: &out, Executable: program, plan: p})
	if err == nil || m.Shown || !strings.Contains(out.String(), "nothing arrives") {
		t.Errorf("%v: %s", err, out.String())
	}
	nothingLeft(t)
}

// A kernel that lets nobody see its scheduler shows all the rest.
func TestChainWhereSwitchesCannotBeSeen(t *testing.T) {
	var out bytes.Buffer
	p := shortly()
	p.record = func() (*oncpu.Recorder, error) { return nil, errors.New("this kernel has no BTF") }
	m, err := RunChain(t.Context(), ChainOptions{Out: &out, Executable: program, plan: p})
	if err != nil || !strings.Contains(out.String(), "this kernel has no BTF") || !strings.Contains(out.String(), "memory in use") || strings.Contains(out.String(), "NaN") {
		t.Errorf("%v: %s", err, out.String())
	}
	if len(m.Rounds) != 1 || m.Rounds[0].Chain.Rates[0] <= 0 || m.Rounds[0].Chain.OnCPU != (oncpu.Switches{}) {
		t.Errorf("measured %+v", m.Rounds)
	}
	nothingLeft(t)
}

func TestFateOfPackets(t *testing.T) {
	const w = time.Second
	at := func(ms int) burst {
		d := time.Duration(ms) * time.Millisecond
		return burst{count: 10, before: d, after: d + time.Millisecond}
	}
	sent := []burst{at(0), at(500), at(1100), at(1500), at(1700), at(1900), at(2010), at(2150), at(2900), at(3050)}
	windows, ok := windowsOf(sent, w, 25)
	if !ok || windows.second != 1101*time.Millisecond+delivery {
		t.Fatalf("windows %+v, %t", windows, ok)
	}
	want := []fate{passes, passes, passes, passes, passes, passes, either, dropped, dropped, either}
	for i, b := range sent {
		if got := windows.fate(b); got != want[i] {
			t.Errorf("at %s: %d, want %d", b.before, got, want[i])
		}
	}
	if _, ok := windowsOf(sent, w, 30); ok {
		t.Error("a second window that is not above the threshold will do")
	}
	if _, ok := windowsOf(sent[:2], w, 25); ok {
		t.Error("a flow without a second window will do")
	}
}
