package api

import (
	"fmt"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
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
	standing := fmt.Sprintf("%s and %s", counted(s.Sessions.Used, "session"), counted(s.Half.Used, "open offer"))
	for _, table := range []struct {
		name string
		Gauge
	}{{"sessions", s.Sessions}, {"mappings", s.Mappings}, {"reservations", s.Half}} {
		if table.Capacity > 0 && float64(table.Used) > nearlyFull*float64(table.Capacity) {
			return fmt.Sprintf("Nearly full: %d of %d %s; see capacity in the configuration.", table.Used, table.Capacity, table.name)
		}
	}
	switch bans := counted(uint64(s.Bans), "ban"); {
	case s.Single() && s.Flows():
		return fmt.Sprintf("All is well: %s, %s.", counted(s.Sessions.Used, "session"), bans)
	case s.Single():
		return fmt.Sprintf("All is well: %s.", bans)
	}
	return fmt.Sprintf("All is well: %s, %s lent so far, nothing is full.", standing, counted(s.Lent, "name"))
}

// Flows reports whether there can be sessions: a single machine has some with chains, and else tables of the least size.
func (s *Status) Flows() bool {
	return !s.Single() || s.Sessions.Used > 0 || s.Sessions.Capacity > model.MinCapacity
}

// Single reports whether the machine has nobody behind it: it has no names.
func (s *Status) Single() bool {
	return len(s.Interfaces) > 0 && !slices.ContainsFunc(s.Interfaces, func(i Interface) bool { return i.Side == "private" })
}

func counted(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
