package api

import (
	"fmt"
	"slices"
)

// nearlyFull is the part of a table from which it is told to be.
const nearlyFull = 0.9

// Complete fills in what follows from the rest. Lists with nothing in them are empty, and not null: whoever reads JSON goes
// through them.
func (s *Status) Complete() {
	s.Health = s.Sentence()
	empty(&s.Interfaces)
	empty(&s.Outbound)
	empty(&s.Reasons)
	empty(&s.Warnings)
	empty(&s.ChangedChains)
}

func empty[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

// Sentence says in one sentence how the gateway is.
func (s *Status) Sentence() string {
	switch n := len(s.Warnings); n {
	case 0:
	case 1:
		return "One thing is wrong: " + s.Warnings[0]
	default:
		return fmt.Sprintf("%d things are wrong. The first: %s", n, slices.Min(s.Warnings))
	}
	if s.Single() {
		return fmt.Sprintf("All is well: %s.", counted(uint64(s.Bans), "ban"))
	}
	standing := fmt.Sprintf("%s and %s", counted(s.Sessions.Used, "session"), counted(s.Half.Used, "open offer"))
	for _, table := range []struct {
		name string
		Gauge
	}{{"sessions", s.Sessions}, {"mappings", s.Mappings}, {"reservations", s.Half}} {
		if table.Capacity > 0 && float64(table.Used) > nearlyFull*float64(table.Capacity) {
			return fmt.Sprintf("Nearly full: %d of %d %s; see capacity in the configuration.", table.Used, table.Capacity, table.name)
		}
	}
	return fmt.Sprintf("All is well: %s, %s lent so far, nothing is full.", standing, counted(s.Lent, "name"))
}

// Single reports whether the machine has nobody behind it: it has neither sessions nor names.
func (s *Status) Single() bool {
	return len(s.Interfaces) > 0 && !slices.ContainsFunc(s.Interfaces, func(i Interface) bool { return i.Side == "private" })
}

func counted(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
