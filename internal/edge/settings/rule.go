package settings

import (
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Anything is the pattern of all names.
const Anything = model.Name("*")

const mostPatterns = 64

// Rule says who may reach whom, and on which terms.
type Rule struct {
	From, To       []model.Name // names, wildcards "*.b.example.", or Anything
	Deny           bool
	Require, Offer Terms
}

// Terms are what a rule asks of a pact; zero values ask nothing.
type Terms struct {
	Vouched      string        // at least: dnssec, certificate or pinned
	Name         string        // of the host inside: edge, pseudonym or full
	Confidential string        // auto, yes or no
	Hold         time.Duration // at most
	Sessions     int           // that stand, at most
	Rate         float64       // new sessions a second
	Services     []model.Port  // none: all that the host opens
}

type rule struct {
	rule     Rule
	from, to []schema.At[model.Name]
	services []schema.At[model.Port]
	wishes   [2]int // lines of what is said of encryption
}

func (r *rule) keys() []schema.Key {
	terms := func(t *Terms, wish *int) []schema.Key {
		return []schema.Key{
			schema.One("vouched", &t.Vouched, schema.OneOf("dnssec", "certificate", "pinned")).Otherwise("any"),
			schema.One("name", &t.Name, schema.OneOf("edge", "pseudonym", "full")).Otherwise("any"),
			schema.OneAt("confidential", &t.Confidential, wish, schema.OneOf("auto", "yes", "no")).Otherwise("auto"),
		}
	}
	required := &r.rule.Require
	return []schema.Key{
		schema.Many("from", &r.from, pattern(), 1).Most(mostPatterns).Must(),
		schema.Many("to", &r.to, pattern(), 1).Most(mostPatterns).Must(),
		schema.One("deny", &r.rule.Deny, schema.Boolean()),
		schema.Section("require", terms(required, &r.wishes[0])...),
		schema.Section("offer", terms(&r.rule.Offer, &r.wishes[1])...),
		schema.One("hold", &required.Hold, schema.Duration(10*time.Second, 24*time.Hour)).Otherwise("as edges.hold"),
		schema.Section(
			"limit",
			schema.One("sessions", &required.Sessions, schema.Number(1, 65535)).Otherwise("none"),
			schema.One("rate", &required.Rate, rate(4000)).Otherwise("none"),
		),
		schema.Many("services", &r.services, service(), 1).Most(mostPatterns).Otherwise("all that the host opens"),
	}
}

// finishRules completes rules. ours are the names of theirs that are of our zones, of which one zone need not be written.
func finishRules(faults *schema.Faults, path string, drafts []*rule, zones []model.Name, ours func(*rule) []schema.At[model.Name]) (rules []Rule) {
	for i, r := range drafts {
		for j, name := range ours(r) {
			if name.Value == Anything || slices.ContainsFunc(zones, func(z model.Name) bool { return name.Value.In(z) }) {
				continue
			}
			if strings.HasPrefix(string(name.Value), "*.") || len(zones) != 1 {
				faults.Add(name.Line, "%s[%d]: %s is in none of edges.zones, for which we speak", path, i, name.Value)
				continue
			}
			ours(r)[j].Value = name.Value + zones[0]
		}
		for at, terms := range []Terms{r.rule.Require, r.rule.Offer} {
			if terms.Confidential == "yes" {
				faults.Add(r.wishes[at], "%s[%d]: confidential cannot be yes: nothing encrypts between edges yet. Leave it out, and use TLS between the hosts", path, i)
			}
		}
		r.rule.From, r.rule.To = schema.Values(r.from), schema.Values(r.to)
		r.rule.Require.Services = schema.Values(r.services)
		rules = append(rules, r.rule)
	}
	return rules
}
