package report

import (
	"maps"
	"regexp"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// families are metrics that belong into one table and one plot, though each has a
// name of its own: the rule's target in rate_mark and rate_mark_reuse. What tells them
// apart is the second part.
var families = []struct {
	name *regexp.Regexp
	of   string // what the second part is
}{
	{regexp.MustCompile(`^(rate|cost)_(.+?)((?:_reuse)?)$`), "target"},
}

// member says which family a metric belongs to, and as what.
type member struct{ family, of, name string }

// membersOf finds families of at least two. A metric that is also measured by the
// family's own name speaks for itself, as rate_reuse beside rate does.
func membersOf(r bench.Report) map[string]member {
	found, size := map[string]member{}, map[string]int{}
	alone := map[string]bool{}
	for _, result := range r.Results {
		if _, known := found[result.Metric]; known {
			continue
		}
		alone[result.Metric] = true
		for _, f := range families {
			if part := f.name.FindStringSubmatch(result.Metric); part != nil && part[2] != "reuse" {
				m := member{part[1] + part[3], f.of, part[2]}
				found[result.Metric] = m
				size[m.family]++
				break
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, m member) bool { return size[m.family] < 2 || alone[m.family] })
	return found
}
