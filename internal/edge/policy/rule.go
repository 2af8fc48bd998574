package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// Pattern says which names a rule is about: a name, "*." and a zone for the names below it, or "*" for every name.
type Pattern string

// Matches reports whether a name is meant, compared label by label.
func (p Pattern) Matches(name model.Name) bool {
	if p == "*" {
		return name != ""
	}
	zone, below := strings.CutPrefix(string(p), "*.")
	if !below {
		return name != "" && name == model.Name(p)
	}
	return zone != "" && name != model.Name(zone) && name.In(model.Name(zone))
}

// SpeaksFor reports whether a name is in one of an edge's zones, label by label: that it ends in the zone's letters is not
// enough.
func SpeaksFor(zones []model.Name, name model.Name) bool {
	return name != "" && slices.ContainsFunc(zones, func(zone model.Name) bool { return zone != "" && name.In(zone) })
}

// Rule is an entry of `out` or `in`. Require is what it wants of the other side, Offer what it gives unasked; what both say
// of anything but Vouched and Name narrows.
type Rule struct {
	From, To       []Pattern
	Deny           bool
	Require, Offer Terms
}

// Terms returns what the rule wants of a pact: its requirements, narrowed by what it offers. Vouched and Name of an offer are
// what is given, and no requirement.
func (r Rule) Terms() (Terms, error) {
	offer := r.Offer
	offer.Vouched, offer.Name = Nobody, ByEdge
	return Narrow(r.Require, offer)
}

// Question is who asks for whom, and what is known of the asker.
type Question struct {
	From, To  model.Name
	Vouched   Vouched // of the edge that asks, for the zone of From
	Disclosed Name    // how much From says
}

// Judge finds the first rule that is about a question, with its place, and whether it lets it pass. Where none is, the
// answer is otherwise, by a rule that wants nothing, at -1.
func Judge(rules []Rule, q Question, otherwise bool) (Rule, int, bool) {
	for i, r := range rules {
		if matches(r.From, q.From) && matches(r.To, q.To) {
			return r, i, !r.Deny
		}
	}
	return Rule{Require: Widest, Offer: Widest}, -1, otherwise
}

func matches(patterns []Pattern, name model.Name) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Matches(name) })
}

// Decision is what the acceptor makes of an `open`. At most one of Unmet and Refused says something; if neither does, the
// pact is to be on the terms.
type Decision struct {
	Terms   Terms
	Unmet   Unmet  // ask for more, or refuse by its word where more was asked for already
	Refused string // a word of `refuse`
	Rule    int    // place of the rule that decided, -1: none
}

// Admit is the acceptor's whole decision on an `open`: by its rules, by what the opener offers and requires, and by what the
// host opens. It is refused where nothing could help; Unmet is said only of what would else be a pact.
func Admit(in []Rule, q Question, offer, require Terms, open Services) Decision {
	rule, place, passes := Judge(in, q, false)
	d := Decision{Rule: place}
	if !passes {
		d.Refused = "policy"
		return d
	}
	own, err := rule.Terms()
	if err == nil {
		own.Services = own.Services.Both(open)
		if own.Services.None() {
			d.Refused = "closed_service"
			return d
		}
		var theirs Terms
		if theirs, err = (Rule{Require: require, Offer: offer}).Terms(); err == nil {
			d.Terms, err = Narrow(own, theirs)
		}
	}
	if conflict := (ErrConflict{}); errors.As(err, &conflict) {
		return Decision{Rule: place, Refused: conflict.Term}
	}
	if d.Terms.Services.TooMany() {
		return Decision{Rule: place, Refused: "too_many_services"}
	}
	d.Unmet = own.Unmet(q)
	return d
}
