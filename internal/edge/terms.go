package edge

import (
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// rulesOf are those of a configuration. hold is that of rules that say none.
func rulesOf(list []settings.Rule, hold time.Duration) (rules []policy.Rule) {
	for _, r := range list {
		rule := policy.Rule{From: patterns(r.From), To: patterns(r.To), Deny: r.Deny, Require: termsOf(r.Require), Offer: termsOf(r.Offer)}
		if rule.Require.Hold == 0 {
			rule.Require.Hold = hold
		}
		if r.Offer.Name == "" { // edges of one owner, most often: a rule that says nothing hides nothing
			rule.Offer.Name = policy.Full
		}
		rules = append(rules, rule)
	}
	return rules
}

func patterns(names []model.Name) (list []policy.Pattern) {
	for _, n := range names {
		list = append(list, policy.Pattern(n))
	}
	return list
}

// termsOf are those of a rule. The configuration has no words but these.
func termsOf(t settings.Terms) policy.Terms {
	terms := policy.Widest
	terms.Vouched, _ = policy.ParseVouched(t.Vouched)
	terms.Name, _ = policy.ParseName(t.Name)
	terms.Confidential, _ = policy.ParseConfidential(t.Confidential)
	terms.Hold = t.Hold
	terms.Limit = policy.Limit{Sessions: uint32(t.Sessions), Rate: uint32(t.Rate)}
	if len(t.Services) > 0 {
		terms.Services = policy.ServicesOf(t.Services)
	}
	return terms
}

// said are terms as a message has them.
func said(t policy.Terms) wire.Terms {
	m := wire.Terms{Hold: wire.Seconds(t.Hold / time.Second), Limit: wire.Limit{Sessions: t.Limit.Sessions, Rate: t.Limit.Rate}}
	if t.Vouched != policy.Nobody {
		m.Vouched = t.Vouched.String()
	}
	if t.Name != policy.ByEdge {
		m.Name = t.Name.String()
	}
	if t.Confidential != policy.Auto {
		m.Confidential = t.Confidential.String()
	}
	m.Services = t.Services.Texts()
	if !t.Evidence {
		no := false
		m.Evidence = &no
	}
	return m
}

// heard reads terms of a message. It is false where it has a word that nobody knows: what that asks for cannot be met. Keys
// that nobody knows are in m.Unknown: in what is required they refuse, elsewhere a newer edge may say them.
func heard(m wire.Terms) (t policy.Terms, known bool) {
	words := [4]bool{}
	t = policy.Widest
	t.Vouched, words[0] = policy.ParseVouched(m.Vouched)
	t.Name, words[1] = policy.ParseName(m.Name)
	t.Confidential, words[2] = policy.ParseConfidential(m.Confidential)
	t.Services, words[3] = policy.ParseServices(m.Services)
	t.Hold = time.Duration(m.Hold) * time.Second
	t.Limit = policy.Limit{Sessions: m.Limit.Sessions, Rate: m.Limit.Rate}
	t.Evidence = m.Evidence == nil || *m.Evidence
	return t, !slices.Contains(words[:], false)
}
