package policy

import (
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Terms are what a side requires, or what both have agreed to. Widest is where to start from: the zero value opens no
// service at all.
type Terms struct {
	Vouched      Vouched       // at least
	Name         Name          // at least
	Confidential Confidential  //
	Hold         time.Duration // at most; 0: not said
	Limit        Limit         // at most
	Services     Services      // no others
	Evidence     bool          // both want to hear of offences
}

// Limit is how much the sessions of one pact may be: at a time, and new ones a second. 0: no limit.
type Limit struct{ Sessions, Rate uint32 }

// Widest are the terms that change nothing when they are combined with others.
var Widest = Terms{Services: Services{All: true}, Evidence: true}

// ErrConflict is of two terms that have nothing in common. Term is "confidential" or "services".
type ErrConflict struct{ Term string }

// Error names the term.
func (e ErrConflict) Error() string { return "the two sides have nothing in common in " + e.Term }

// Narrow combines what two sides want. The result is within both: Narrow(a, b) equals Narrow(b, a), and Narrow(a, a) is a.
func Narrow(a, b Terms) (Terms, error) {
	if a.Confidential != b.Confidential && a.Confidential != Auto && b.Confidential != Auto {
		return Terms{}, ErrConflict{"confidential"}
	}
	services := a.Services.Both(b.Services)
	if services.None() {
		return Terms{}, ErrConflict{"services"}
	}
	return Terms{
		Vouched:      max(a.Vouched, b.Vouched),
		Name:         max(a.Name, b.Name),
		Confidential: max(a.Confidential, b.Confidential),
		Hold:         least(a.Hold, b.Hold),
		Limit:        Limit{least(a.Limit.Sessions, b.Limit.Sessions), least(a.Limit.Rate, b.Limit.Rate)},
		Services:     services,
		Evidence:     a.Evidence && b.Evidence,
	}, nil
}

// Within reports whether t is nowhere wider than o.
func (t Terms) Within(o Terms) bool {
	return t.Vouched >= o.Vouched && t.Name >= o.Name && (o.Confidential == Auto || t.Confidential == o.Confidential) &&
		below(t.Hold, o.Hold) && below(t.Limit.Sessions, o.Limit.Sessions) && below(t.Limit.Rate, o.Limit.Rate) &&
		t.Services.Within(o.Services) && (o.Evidence || !t.Evidence)
}

// Equal reports whether both say the same.
func (t Terms) Equal(o Terms) bool { return t.Within(o) && o.Within(t) }

// least is the smaller of two numbers, of which 0 stands for no bound.
func least[T time.Duration | uint32](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// below reports whether a is no more than b, of which 0 stands for no bound.
func below[T time.Duration | uint32](a, b T) bool { return b == 0 || a != 0 && a <= b }

// Unmet is what the other side would have to show more of, as `more` asks for it; the zero value is nothing.
type Unmet struct {
	Vouched Vouched
	Name    Name
}

// Unmet returns what the terms require beyond what a question comes with.
func (t Terms) Unmet(q Question) (u Unmet) {
	if t.Vouched > q.Vouched {
		u.Vouched = t.Vouched
	}
	if t.Name > q.Disclosed {
		u.Name = t.Name
	}
	return u
}

// Refused is the word by which what is still unmet in the second round is refused, "" for nothing.
func (u Unmet) Refused() string {
	switch {
	case u.Vouched != Nobody:
		return "vouched"
	case u.Name != ByEdge:
		return "name_undisclosed"
	}
	return ""
}

// byKey orders services by what the outside connects to.
func byKey(a, b model.Port) int { return int(a.Key()) - int(b.Key()) }
