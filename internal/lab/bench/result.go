package bench

import (
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// Schema is the version of Report's JSON form. It changes with the meaning of a
// field; new fields leave it as it is.
const Schema = "realmgate-bench/1"

// Report is a run of a scenario: everything that result.json holds.
type Report struct {
	Schema      string            `json:"schema"`
	Scenario    string            `json:"scenario"`
	About       string            `json:"about"`
	Command     string            `json:"command"`
	Started     time.Time         `json:"started"`
	Seconds     float64           `json:"seconds"`              // that it took
	Incomplete  string            `json:"incomplete,omitempty"` // why it ended early: interrupted, or the error
	Devices     []string          `json:"devices"`              // the first is the baseline
	Control     string            `json:"control,omitempty"`    // the device that shows the tester's own limit
	Options     map[string]string `json:"options"`
	Environment Environment       `json:"environment"`
	Tuning      []Tuning          `json:"tuning"`
	Notes       []string          `json:"notes"` // what a reader must know
	Results     []Result          `json:"results"`
	Ratios      []Ratio           `json:"ratios"`
	Series      []Series          `json:"series,omitempty"`
}

// Result is one metric of one device, over all rounds.
type Result struct {
	DUT        string             `json:"dut"`
	Metric     string             `json:"metric"`
	Unit       string             `json:"unit"`
	Parameters map[string]float64 `json:"parameters,omitempty"` // of a sweep, as rules: 1024
	method.Summary
	// Sweep tells which one measured it, from 1: points of one take turns within each round.
	Sweep      int             `json:"sweep,omitempty"`
	Unresolved string          `json:"unresolved,omitempty"` // why the values are too small to be told from the control's
	Trials     []Trial         `json:"trials"`
	Gates      map[string]Gate `json:"gates"`
}

// Trial is one measured value. An invalid one is in no summary.
type Trial struct {
	Round   int           `json:"round"`
	Value   method.Number `json:"value"`
	Invalid string        `json:"invalid,omitempty"` // why
}

// Disturbed reports whether the trial is invalid by what the tester or its machine
// failed to do, and by nothing that the device did.
func (t Trial) Disturbed() bool {
	gate, _, _ := strings.Cut(t.Invalid, ":")
	return slices.Contains(testers, gate)
}

// Gate is a condition that makes a trial valid, and how often it held.
type Gate struct {
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
	Detail string `json:"detail,omitempty"` // of the last failure
}

// Ratio compares a device with the first, round by round: Value is the median, Least
// and Most are the extremes.
type Ratio struct {
	Metric     string             `json:"metric"`
	Parameters map[string]float64 `json:"parameters,omitempty"`
	DUT        string             `json:"dut"`
	Baseline   string             `json:"baseline"`
	Value      method.Number      `json:"value"`
	Least      method.Number      `json:"least"`
	Most       method.Number      `json:"most"`
}

// Series is a curve for the report.
type Series struct {
	DUT    string       `json:"dut"`
	Plot   string       `json:"plot"` // which curves belong together
	X      string       `json:"x"`    // what the axes show, with the unit
	Y      string       `json:"y"`
	Points [][2]float64 `json:"points"`
}

// Measure is one value that a trial gave.
type Measure struct {
	Metric, Unit string
	Value        float64
}
