package method

// Arrangement is a tree of chains in which rules are looked up, one rule for each
// flow. The first chain has Selectors[0] rules, each of which leads a share of the
// flows to a chain of the next level, with Selectors[1] rules, and so on; the
// chains of the last level have Rules rules each. With one level it is what seed
// 000 calls linear, with more nested.
type Arrangement struct {
	Selectors []int
	Rules     int
}

// Chains returns how many chains of the last level there are.
func (a Arrangement) Chains() int {
	n := 1
	for _, selectors := range a.Selectors {
		n *= selectors
	}
	return n
}

// Flows returns how many flows find a rule: as many as there are last rules.
func (a Arrangement) Flows() int { return a.Chains() * a.Rules }

// Nested says whether there is more than one level. One rule then leads all flows
// to the first chain, since that cannot be the built-in one, which others share.
func (a Arrangement) Nested() bool { return len(a.Selectors) > 1 }

// Hits returns how many rules are looked at when every flow sends one packet
// (Sharma section 4.3): its place in each chain on its way, summed over all
// flows. The linear model is its equation 1, Σ (R·i + R(R+1)/2) over the chains i.
// Its equation 3 for the nested one, β·R + F·R(R+1)/2, leaves out the rule that
// leads into the tree, one hit for each of the F·R flows; with it the model gives
// the figures of Table 19.
func (a Arrangement) Hits() int {
	flows := a.Flows()
	if flows == 0 {
		return 0
	}
	hits := a.Chains() * triangle(a.Rules)
	for _, selectors := range a.Selectors {
		hits += flows / selectors * triangle(selectors) // the flows spread evenly
	}
	if a.Nested() {
		hits += flows
	}
	return hits
}

// triangle returns 1 + 2 + … + n, σ in the seed.
func triangle(n int) int { return n * (n + 1) / 2 }
