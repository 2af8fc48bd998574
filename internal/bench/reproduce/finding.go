package reproduce

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/bench"
)

// Paper is a source of findings.
type Paper struct {
	Name     string // as the page names it
	Hardware string // that it measured on
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
	Repeat   int
}

// Holds is whether a finding is seen on this machine too.
type Holds string

// What can be said of a finding.
const (
	Yes     Holds = "yes"
	No      Holds = "no"
	Partly  Holds = "partly"
	Unknown Holds = "not measured"
)

// Verdict is what this machine shows.
type Verdict struct {
	Holds     Holds
	Netfilter string // figures
	Realmgate string // figures
	Why       string // a sentence
}

// Evidence is the reports that a finding needs, by the name of their job.
type Evidence map[string]bench.Report

// Missing lists which of the jobs have no report.
func (f Finding) Missing(e Evidence) (names []string) {
	for _, job := range f.Needs {
		if _, ok := e[job.Name]; !ok {
			names = append(names, job.Name)
		}
	}
	return names
}

// Judged returns the verdict, which is Unknown while a report is missing or has
// not what the finding asks for.
func (f Finding) Judged(e Evidence) (v Verdict) {
	if missing := f.Missing(e); len(missing) > 0 {
		return Verdict{Holds: Unknown, Why: fmt.Sprintf("no report of %v yet", missing)}
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
