package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Gates are the conditions that must hold for a trial to be valid. The zero value is of a
// trial that has not begun.
type Gates struct {
	failures map[string]string // why each failed, "" for one that held
}

// Require notes a condition that must hold for the trial to be valid.
func (g *Gates) Require(name string, holds bool, format string, args ...any) {
	if holds {
		if _, known := g.failures[name]; !known {
			g.failures[name] = ""
		}
		return
	}
	g.failures[name] = fmt.Sprintf(format, args...)
}

// begin forgets the trial before.
func (g *Gates) begin() { g.failures = map[string]string{} }

// Gates that say what the others follow from come first, and what the tester or its
// machine failed to do last: a device's own fault is no less one on a busy machine.
var (
	firstGates = []string{"translated", "prepared"}
	testers    = []string{"generator", "contention", "steal"}
)

// before is the order in which gates say why a trial is invalid.
func before(a, b string) int {
	rank := func(name string) int {
		if i := slices.Index(firstGates, name); i >= 0 {
			return i - len(firstGates)
		}
		return 1 + slices.Index(testers, name)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// invalid says why the trial is, or nothing.
func (g *Gates) invalid() string {
	for _, name := range slices.SortedFunc(maps.Keys(g.failures), before) {
		if why := g.failures[name]; why != "" {
			return name + ": " + why
		}
	}
	return ""
}

// disturbed reports whether something but the device made the trial invalid.
func (g *Gates) disturbed() bool {
	return slices.ContainsFunc(testers, func(name string) bool { return g.failures[name] != "" })
}

// Untimed forgets what kept the tester waiting, of a trial that measures no time.
func (g *Gates) Untimed() {
	for _, name := range testers {
		delete(g.failures, name)
	}
}

// Try makes a part of a trial until it is valid, as often as a whole trial would
// be made.
func (g *Gates) Try(part func() error) error {
	failures, err := g.attempt(mostAttempts, part)
	g.join(failures)
	return err
}

// attempt returns what the gates of the last attempt say.
func (g *Gates) attempt(most int, part func() error) (failures map[string]string, err error) {
	whole := g.failures
	defer func() { g.failures = whole }()
	for range most {
		g.begin()
		if err = part(); err != nil || g.invalid() == "" {
			break
		}
	}
	return g.failures, err
}

func (g *Gates) join(failures map[string]string) {
	for name, why := range failures {
		g.Require(name, why == "", "%s", why)
	}
}
