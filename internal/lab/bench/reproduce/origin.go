package reproduce

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// machine describes where a report was made, as far as figures depend on it.
func machine(env bench.Environment) string {
	kind := "hardware"
	if env.Virtual {
		kind = "a virtual machine"
	}
	return fmt.Sprintf("%s: %s, %d CPUs, %d GiB, Linux %s", kind, env.CPU, env.CPUs, (env.MemoryBytes+1<<29)>>30, env.Kernel)
}

// unlike lists in what one environment differs from another.
func unlike(env, from bench.Environment) (differences []string) {
	if env.Tool != from.Tool {
		differences = append(differences, fmt.Sprintf("program %s instead of %s", env.Tool, from.Tool))
	}
	if machine(env) != machine(from) {
		differences = append(differences, fmt.Sprintf("machine %s instead of %s", machine(env), machine(from)))
	}
	if !maps.Equal(env.Mitigations, from.Mitigations) {
		differences = append(differences, "other mitigations of the processor's faults")
	}
	return differences
}

// strayed lists in what a report is not what its job asks for. What a report does
// not say is taken to be right.
func (j Job) strayed(r bench.Report) (differences []string) {
	direction := j.Direction
	if direction == "" {
		direction = "both"
	}
	for _, want := range []struct{ what, asked, made string }{
		{"scenario", j.Scenario, r.Scenario},
		{"devices", strings.Join(j.Devices, ","), strings.Join(r.Devices, ",")},
		{"sessions", number(j.Sessions), r.Options["sessions"]},
		{"hosts", number(max(j.Hosts, 1)), r.Options["hosts"]},
		{"repeat", number(j.Repeat), r.Options["repeat"]},
		{"profile", string(j.Profile), r.Options["profile"]},
		{"direction", direction, r.Options["direction"]},
	} {
		if want.asked != "" && want.made != "" && want.asked != want.made {
			differences = append(differences, fmt.Sprintf("%s %s instead of %s", want.what, want.made, want.asked))
		}
	}
	if r.Incomplete != "" {
		differences = append(differences, "it ended early: "+r.Incomplete)
	}
	return differences
}

// number leaves out what a job leaves to its scenario.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// usual is the environment that most reports have in common; of several the latest.
func (e Evidence) usual() (env bench.Environment) {
	most, when := 0, time.Time{}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		n := 0
		for _, other := range e {
			if len(unlike(other.Environment, e[name].Environment)) == 0 {
				n++
			}
		}
		if n > most || n == most && e[name].Started.After(when) {
			most, when, env = n, e[name].Started, e[name].Environment
		}
	}
	return env
}

// provenance is when, where and with what the reports were made, and a warning for
// each that does not belong to the others.
func provenance(jobs []Job, e Evidence) string {
	if len(e) == 0 {
		return "There is no report yet.\n"
	}
	env := e.usual()
	var dates []string
	var warnings []string
	for _, job := range jobs {
		r, ok := e[job.Name]
		if !ok {
			continue
		}
		dates = append(dates, r.Started.UTC().Format(time.DateOnly))
		if why := append(unlike(r.Environment, env), job.strayed(r)...); len(why) > 0 {
			warnings = append(warnings, fmt.Sprintf("> **Warning**: [%s](raw/%s/result.json) does not belong to the others: %s.\n", job.Name, job.Name, strings.Join(why, "; ")))
		}
	}
	when := slices.Min(dates)
	if last := slices.Max(dates); last != when {
		when += " to " + last
	}
	text := fmt.Sprintf("Measured %s with Realmgate %s on %s.\n", when, env.Tool, machine(env))
	if env.Tool == "devel" || strings.HasSuffix(env.Tool, "-dirty") {
		text += "This does not tell which program it was: it was built from changed files, or without a revision.\n"
	}
	if len(warnings) > 0 {
		text += "\n" + strings.Join(warnings, ">\n")
	}
	return text
}
