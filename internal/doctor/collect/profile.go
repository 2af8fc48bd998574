package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Profile is what the programs of a data plane did for a while.
type Profile struct {
	Seconds  float64       `json:"seconds"`
	Programs []ProgramTime `json:"programs"` // that ran, the longest first
}

// ProgramTime is of one that packets, the daemon or the clock enter, with what it entered itself.
type ProgramTime struct {
	Program     string `json:"program"`
	Runs        uint64 `json:"runs"`
	Nanoseconds int64  `json:"nanoseconds"` // of all runs
}

// TakeProfile has the kernel take times for so long, or until ctx ends, which is no error. Even if this process is killed it does
// so no longer.
func TakeProfile(ctx context.Context, instance string, long time.Duration) (p Profile, err error) {
	before, err := datapath.ProgramTimes(instance)
	if err != nil || len(before) == 0 {
		return p, fmt.Errorf("no data plane of instance %s is at work here: %w", instance, cmp.Or(err, errors.New("it has pinned no programs")))
	}
	on, err := datapath.TakeTimes()
	if err != nil {
		return p, err
	}
	begun := time.Now()
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
	p.Seconds = time.Since(begun).Seconds()
	after, err := datapath.ProgramTimes(instance)
	if err := errors.Join(err, on.Close()); err != nil {
		return p, err
	}
	p.Programs = []ProgramTime{}
	for _, a := range after {
		at := slices.IndexFunc(before, func(b datapath.ProgramTime) bool { return b.Program == a.Program })
		if at >= 0 && a.Runs >= before[at].Runs { // else it was loaded meanwhile
			a.Runs, a.Took = a.Runs-before[at].Runs, a.Took-before[at].Took
		}
		if a.Runs > 0 {
			p.Programs = append(p.Programs, ProgramTime{a.Program, a.Runs, a.Took.Nanoseconds()})
		}
	}
	slices.SortFunc(p.Programs, func(a, b ProgramTime) int { return cmp.Compare(b.Nanoseconds, a.Nanoseconds) })
	return p, nil
}
