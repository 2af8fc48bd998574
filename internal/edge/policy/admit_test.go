package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	hosta = model.Name("hosta.a.example.")
	hostb = model.Name("www.b.example.")
)

// with are the widest terms, changed.
func with(change func(*Terms)) Terms {
	t := Widest
	change(&t)
	return t
}

func services(texts ...string) Services {
	var ports []model.Port
	for _, text := range texts {
		port, err := model.ParsePort(text)
		if err != nil {
			panic(err)
		}
		ports = append(ports, port)
	}
	return ServicesOf(ports)
}

// TestRequirements has, for each of the seven terms, an `open` that meets what the acceptor's rule wants, and one that does
// not, or that is narrowed by it.
func TestRequirements(t *testing.T) {
	t.Parallel()
	full := Question{From: hosta, To: hostb, Vouched: Pinned, Disclosed: Full}
	vague := Question{From: hosta, To: hostb, Vouched: Certificate, Disclosed: Pseudonym}
	for _, c := range []struct {
		name           string
		rule           func(*Rule)
		q              Question
		offer, require func(*Terms)
		want           Decision
	}{
		{"vouched, met", func(r *Rule) { r.Require.Vouched = Pinned }, full, nil, nil, Decision{Terms: with(func(t *Terms) { t.Vouched = Pinned })}},
		{"vouched, unmet", func(r *Rule) { r.Require.Vouched = Pinned }, vague, nil, nil, Decision{Unmet: Unmet{Vouched: Pinned}}},
		{"name, met", func(r *Rule) { r.Require.Name = Full }, full, nil, nil, Decision{Terms: with(func(t *Terms) { t.Name = Full })}},
		{"name, unmet", func(r *Rule) { r.Require.Name = Full }, vague, nil, nil, Decision{Unmet: Unmet{Name: Full}}},
		{"what is offered is no requirement", func(r *Rule) { r.Offer.Name, r.Offer.Vouched = Full, Pinned }, vague, func(t *Terms) { t.Name = Pseudonym }, nil, Decision{Terms: Widest}},
		{"confidential, met", func(r *Rule) { r.Require.Confidential = Yes }, full, nil, func(t *Terms) { t.Confidential = Yes }, Decision{Terms: with(func(t *Terms) { t.Confidential = Yes })}},
		{"confidential, one side", func(r *Rule) { r.Require.Confidential = Yes }, full, nil, nil, Decision{Terms: with(func(t *Terms) { t.Confidential = Yes })}},
		{"confidential, unmet", func(r *Rule) { r.Require.Confidential = Yes }, full, func(t *Terms) { t.Confidential = No }, nil, Decision{Refused: "confidential"}},
		{"hold, met", func(r *Rule) { r.Offer.Hold = time.Hour }, full, func(t *Terms) { t.Hold = time.Minute }, nil, Decision{Terms: with(func(t *Terms) { t.Hold = time.Minute })}},
		{"hold, narrowed", func(r *Rule) { r.Offer.Hold = time.Minute }, full, func(t *Terms) { t.Hold = time.Hour }, nil, Decision{Terms: with(func(t *Terms) { t.Hold = time.Minute })}},
		{"limit, met", func(r *Rule) { r.Require.Limit.Sessions = 100 }, full, func(t *Terms) { t.Limit = Limit{50, 10} }, nil, Decision{Terms: with(func(t *Terms) { t.Limit = Limit{50, 10} })}},
		{"limit, narrowed", func(r *Rule) { r.Require.Limit = Limit{100, 5} }, full, func(t *Terms) { t.Limit = Limit{200, 10} }, nil, Decision{Terms: with(func(t *Terms) { t.Limit = Limit{100, 5} })}},
		{"services, met", func(r *Rule) { r.Offer.Services = services("tcp/80") }, full, nil, func(t *Terms) { t.Services = services("tcp/80", "tcp/443") }, Decision{Terms: with(func(t *Terms) { t.Services = services("tcp/80") })}},
		{"services, unmet", func(r *Rule) { r.Offer.Services = services("tcp/80") }, full, nil, func(t *Terms) { t.Services = services("udp/80") }, Decision{Refused: "services"}},
		{"evidence, met", nil, full, nil, nil, Decision{Terms: Widest}},
		{"evidence, one side does not want it", func(r *Rule) { r.Offer.Evidence = false }, full, nil, nil, Decision{Terms: with(func(t *Terms) { t.Evidence = false })}},
	} {
		rule := Rule{From: []Pattern{"*.a.example."}, To: []Pattern{Pattern(hostb)}, Require: Widest, Offer: Widest}
		offer, require := Widest, Widest
		if c.rule != nil {
			c.rule(&rule)
		}
		if c.offer != nil {
			c.offer(&offer)
		}
		if c.require != nil {
			c.require(&require)
		}
		got := Admit([]Rule{rule}, c.q, offer, require, Services{All: true})
		if got.Unmet != c.want.Unmet || got.Refused != c.want.Refused || c.want.Unmet == (Unmet{}) && c.want.Refused == "" && !same(got.Terms, c.want.Terms) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// A pact is for what the host opens, and only by a rule.
func TestAdmit(t *testing.T) {
	t.Parallel()
	all := Rule{From: []Pattern{"*"}, To: []Pattern{"*"}, Require: Widest, Offer: Widest}
	denied := Rule{From: []Pattern{"bad.a.example."}, To: []Pattern{"*"}, Deny: true}
	some := Rule{From: []Pattern{"*"}, To: []Pattern{"*"}, Require: Widest, Offer: with(func(t *Terms) { t.Services = services("tcp/80") })}
	unknown := Rule{From: []Pattern{"*"}, To: []Pattern{"*"}}
	five := services("tcp/1", "tcp/2", "tcp/3", "tcp/4", "tcp/5")
	for _, c := range []struct {
		name    string
		rules   []Rule
		from    model.Name
		open    Services
		refused string
		place   int
	}{
		{"no rule", nil, hosta, services("tcp/80"), "policy", -1},
		{"the first rule that is meant decides", []Rule{denied, all}, "bad.a.example.", services("tcp/80"), "policy", 0},
		{"and the next for others", []Rule{denied, all}, hosta, services("tcp/80"), "", 1},
		{"nothing is open", []Rule{all}, hosta, Services{}, "closed_service", 0},
		{"another thing is open", []Rule{some}, hosta, services("tcp/443"), "closed_service", 0},
		{"a rule that says nothing opens nothing", []Rule{unknown}, hosta, Services{All: true}, "services", 0},
		{"four ports and ICMP", []Rule{all}, hosta, services("icmp", "tcp/1", "tcp/2", "tcp/3", "tcp/4"), "", 0},
		{"five ports", []Rule{all}, hosta, five, "too_many_services", 0},
		{"all ports", []Rule{all}, hosta, Services{All: true}, "", 0},
	} {
		d := Admit(c.rules, Question{From: c.from, To: hostb}, Widest, Widest, c.open)
		if d.Refused != c.refused || d.Rule != c.place || d.Unmet != (Unmet{}) {
			t.Errorf("%s: got %+v, want %q by rule %d", c.name, d, c.refused, c.place)
		}
	}
	d := Admit([]Rule{some}, Question{From: hosta, To: hostb}, Widest, Widest, services("tcp/80:8080", "tcp/443"))
	if !slices.Equal(d.Terms.Services.List, []model.Port{{Protocol: model.TCP, Port: 80, To: 80}}) {
		t.Errorf("where a port leads is told to nobody: got %v", d.Terms.Services)
	}
}

// What is asked for by `more`, and shown in the second round, is enough: there is no third.
func TestTwoRoundsAreEnough(t *testing.T) {
	t.Parallel()
	rule := Rule{From: []Pattern{"*"}, To: []Pattern{"*"}, Require: with(func(t *Terms) { t.Name, t.Vouched = Full, Certificate }), Offer: Widest}
	for vouched := Nobody; vouched <= Pinned; vouched++ {
		for disclosed := ByEdge; disclosed <= Full; disclosed++ {
			q := Question{From: hosta, To: hostb, Vouched: vouched, Disclosed: disclosed}
			d := Admit([]Rule{rule}, q, Widest, Widest, Services{All: true})
			if (d.Unmet.Refused() == "") != (d.Unmet == Unmet{}) {
				t.Errorf("%+v is unmet, and refused as %q", d.Unmet, d.Unmet.Refused())
			}
			q.Vouched, q.Disclosed = max(q.Vouched, d.Unmet.Vouched), max(q.Disclosed, d.Unmet.Name)
			if d = Admit([]Rule{rule}, q, Widest, Widest, Services{All: true}); d.Unmet != (Unmet{}) || d.Refused != "" {
				t.Errorf("%v, %v: the second round wants %+v", vouched, disclosed, d)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	if rule, place, passes := Judge(nil, Question{From: hosta, To: hostb}, true); !passes || place != -1 || !same(rule.Require, Widest) || !same(rule.Offer, Widest) {
		t.Errorf("no rule, which lets out: got %+v, %d, %v", rule, place, passes)
	}
	for _, c := range []struct {
		pattern Pattern
		name    model.Name
		want    bool
	}{
		{"*", hosta, true}, {"*", "", false},
		{"*.a.example.", hosta, true}, {"*.a.example.", "x.y.a.example.", true}, {"*.a.example.", "a.example.", false},
		{"*.a.example.", "evila.example.", false}, {"*.a.example.", "host.evila.example.", false}, {"*.a.example.", "a.example.org.", false},
		{"hosta.a.example.", hosta, true}, {"hosta.a.example.", "x.hosta.a.example.", false}, {"osta.a.example.", hosta, false},
		{"*.", hosta, false}, {"", "", false},
	} {
		if got := c.pattern.Matches(c.name); got != c.want {
			t.Errorf("%q, %q: got %v", c.pattern, c.name, got)
		}
	}
}

// Defect 1 of the predecessor: an edge speaks for the names of its zones, and not for those that end in the same letters.
func TestZonesAreWhole(t *testing.T) {
	t.Parallel()
	zones := []model.Name{"b.example.", "c.example."}
	for name, want := range map[model.Name]bool{
		"hostb.b.example.": true, "b.example.": true, "x.y.c.example.": true,
		"evilb.example.": false, "host.evilb.example.": false, "example.": false, "b.example.org.": false, "hosta.a.example.": false, "": false,
	} {
		if got := SpeaksFor(zones, name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
	if SpeaksFor(nil, hosta) || SpeaksFor([]model.Name{""}, hosta) {
		t.Error("an edge without zones speaks for nobody: an empty list is not every name")
	}
}

// Defect 7 of the predecessor: a part of a word, or more than it, is not the word.
func TestWordsAreWhole(t *testing.T) {
	t.Parallel()
	for word, known := range map[string][3]bool{ // of vouched, name, confidential
		"": {true, true, true}, "pinned": {true, false, false}, "certificate": {true, false, false}, "full": {false, true, false}, "edge": {false, true, false},
		"yes": {false, false, true}, "auto": {false, false, true}, "pin": {}, "pinned_key": {}, "certificates": {}, "PINNED": {}, " pinned": {}, "fullname": {}, "ye": {}, "no ": {},
	} {
		_, vouched := ParseVouched(word)
		_, name := ParseName(word)
		_, confidential := ParseConfidential(word)
		if got := [3]bool{vouched, name, confidential}; got != known {
			t.Errorf("%q: got %v, want %v", word, got, known)
		}
	}
	for v := Nobody; v <= Pinned; v++ {
		if read, known := ParseVouched(v.String()); !known || read != v {
			t.Errorf("%v is read as %v, %v", v, read, known)
		}
	}
	for n := ByEdge; n <= Full; n++ {
		if read, known := ParseName(n.String()); !known || read != n {
			t.Errorf("%v is read as %v, %v", n, read, known)
		}
	}
	for c := Auto; c <= No; c++ {
		if read, known := ParseConfidential(c.String()); !known || read != c {
			t.Errorf("%v is read as %v, %v", c, read, known)
		}
	}
}

// Defect 5 of the predecessor, the half that is policy's: what one peer's names are denied takes nothing away from what
// another's are.
func TestPeersAreFilteredEach(t *testing.T) {
	t.Parallel()
	rules := []Rule{
		{From: []Pattern{"*.a.example."}, To: []Pattern{Pattern(hostb)}, Deny: true},
		{From: []Pattern{"*.c.example."}, To: []Pattern{Pattern(hostb)}, Deny: true},
		{From: []Pattern{"*"}, To: []Pattern{"*"}, Require: Widest, Offer: Widest},
	}
	for from, want := range map[model.Name]Decision{
		"x.a.example.": {Refused: "policy"}, "x.c.example.": {Refused: "policy", Rule: 1}, "x.d.example.": {Rule: 2, Terms: Widest},
	} {
		for range 2 { // and a second question finds the same
			if d := Admit(rules, Question{From: from, To: hostb}, Widest, Widest, Services{All: true}); d.Refused != want.Refused || d.Rule != want.Rule {
				t.Errorf("%s: got %+v, want %+v", from, d, want)
			}
		}
	}
}
