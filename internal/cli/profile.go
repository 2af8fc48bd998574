package cli

import (
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/doctor/collect"
)

// profileText shows which programs ran, and how long they took.
func profileText(p collect.Profile) string {
	all := int64(0)
	for _, t := range p.Programs {
		all += t.Nanoseconds
	}
	t := newTable("PROGRAM", ">RUNS", ">NS A RUN", ">SHARE", ">OF A CPU")
	for _, r := range p.Programs {
		t.add(r.Program, count(r.Runs), count(uint64(r.Nanoseconds)/r.Runs), shareText(float64(r.Nanoseconds)/float64(max(all, 1))),
			shareText(float64(r.Nanoseconds)/p.Seconds/float64(time.Second)))
	}
	return fmt.Sprintf("%s%s of programs in %.1f s; programs that they entered are in their times\n", t, time.Duration(all).Round(time.Microsecond), p.Seconds)
}

func shareText(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) } //nolint:mnd // per cent
