package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// Paper is a source of findings.
type Paper struct {
	Name     string // as the page names it
	Hardware string // that it measured on
	Figures  string // which of its figures are not drawn, and why, in sentences
	Findings []Finding
}

// Finding is a table or figure, and what its authors conclude from it.
type Finding struct {
	Item  string // "Table 16"
	Claim string // what the authors found, in a sentence
	Then  string // their figures
	Needs []Job
	Judge func(Evidence) Verdict
}

// Job is a run of a scenario. Jobs of one name are the same job.
type Job struct {
	Name     string // of its folder
	Scenario string
	Devices  []string // none: the scenario's own
	Sessions int      // 0: the scenario's own
	Hosts    int      // 0: one
	Repeat   int      // 0: the scenario's own
	// Profile is how many points there are; Run sets it.
	Profile bench.Profile
	// Direction is the way of established sessions' frames, as --direction has it;
	// empty is both.
	Direction string
}

// Holds is whether a finding is seen on this machine too.
type Holds string

// What can be said of a finding.
const (
	Yes       Holds = "yes"
	No        Holds = "no"
	Partly    Holds = "partly"
	Undecided Holds = "undecided" // what was measured does not tell
	Unknown   Holds = "not measured"
)

// Verdict is what this machine shows.
type Verdict struct {
	Holds     Holds
	Netfilter string // figures
	Realmgate string // figures
	Why       string // a sentence
}

// Missing lists which of the jobs have no report, or one without a valid trial.
func (f Finding) Missing(e Evidence) (names []string) {
	for _, job := range f.Needs {
		if !measured(e[job.Name]) {
			names = append(names, job.Name+whyInvalid(e[job.Name]))
		}
	}
	return names
}

// measured reports whether any device has a valid trial. The control alone is no
// result, and what a model computed is no trial.
func measured(r bench.Report) bool {
	return slices.ContainsFunc(r.Results, func(result bench.Result) bool {
		return result.DUT != r.Control && len(rounds(result)) > 0
	})
}

// whyInvalid says of a report without valid trials what its first one lacks.
func whyInvalid(r bench.Report) string {
	for _, result := range r.Results {
		for _, t := range result.Trials {
			if t.Invalid != "" && result.DUT != r.Control {
				return fmt.Sprintf(" (%s, %s)", result.DUT, t.Invalid)
			}
		}
	}
	return ""
}

// Judged returns the verdict, which is Unknown while a report is missing or has
// not what the finding asks for.
func (f Finding) Judged(e Evidence) (v Verdict) {
	if missing := f.Missing(e); len(missing) > 0 {
		return Verdict{Holds: Unknown, Why: "no valid report of " + strings.Join(missing, ", ")}
	}
	defer func() {
		if lacking, ok := recover().(absent); ok {
			v = Verdict{Holds: Unknown, Why: string(lacking)}
		}
	}()
	return f.Judge(e)
}

// absent is how a look-up in the evidence ends a judgement.
type absent string

// holds is Yes or No.
func holds(yes bool) Holds {
	if yes {
		return Yes
	}
	return No
}
