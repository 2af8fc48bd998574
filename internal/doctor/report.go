package doctor

import (
	"cmp"
	"slices"
	"strings"
)

// State is how a check ended.
type State string

// The states, from good to bad.
const (
	Good    State = "good"
	Warning State = "warning" // it works, and could be better
	Bad     State = "bad"
)

// Fault is what is wrong, and the command, or the change, that repairs it.
type Fault struct {
	State  State  `json:"state"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// Result is one check's.
type Result struct {
	Check    string   `json:"check"`
	State    State    `json:"state"`
	Says     string   `json:"says,omitempty"` // where it is good
	Faults   []Fault  `json:"faults,omitempty"`
	Explains []Result `json:"explains,omitempty"` // which are so because this is
}

// Report is all results: causes first, the worst of them before the others.
type Report struct {
	State  State    `json:"state"`
	Checks []Result `json:"checks"`
}

// Examine judges facts.
func Examine(f *Facts) Report {
	found := map[string]Result{}
	var order []string
	for _, c := range checks {
		if c.looks != nil && !c.looks(f) {
			continue
		}
		v := c.judge(f)
		r := Result{Check: c.name, State: Good, Says: v.says, Faults: v.faults}
		for _, fault := range v.faults {
			r.Says, r.State = "", worse(r.State, fault.State)
		}
		found[c.name] = r
		order = append(order, c.name)
	}
	folded := map[string][]Result{}
	report := Report{State: Good, Checks: []Result{}}
	for _, name := range order {
		report.State = worse(report.State, found[name].State)
		if cause := causeOf(name, found); cause != "" {
			folded[cause] = append(folded[cause], found[name])
		}
	}
	for _, name := range order {
		if r := found[name]; causeOf(name, found) == "" {
			r.Explains = folded[name]
			report.Checks = append(report.Checks, r)
		}
	}
	slices.SortStableFunc(report.Checks, func(a, b Result) int { return cmp.Compare(severity(b.State), severity(a.State)) })
	return report
}

// causeOf is the last cause behind a check that has failed, as far as others tell; "" where it is one itself.
func causeOf(name string, found map[string]Result) string {
	if !failed(name, found) {
		return ""
	}
	for _, c := range checks {
		if c.name != name {
			continue
		}
		for _, because := range c.because {
			if failed(because, found) {
				return cmp.Or(causeOf(because, found), because)
			}
		}
	}
	return ""
}

func failed(name string, found map[string]Result) bool {
	r, looked := found[name]
	return looked && r.State != Good
}

func severity(s State) int { return slices.Index([]State{Good, Warning, Bad}, s) }

func worse(a, b State) State {
	if severity(b) > severity(a) {
		return b
	}
	return a
}

// doubts are lines of the rooms as faults. What to do stands behind the last colon of each, but those of an address.
func doubts(state State, lines []string) (list []Fault) {
	for _, line := range lines {
		what, remedy := line, ""
		if at := strings.LastIndex(line, ": "); at >= 0 {
			what, remedy = line[:at], line[at+2:]
		}
		list = append(list, Fault{state, what, remedy})
	}
	return list
}
