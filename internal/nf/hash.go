package nf

const (
	perRuleNode = len(classifierRulesRuleNode{}.Rule)
	none        = ^uint32(0) // RULES_NONE
	mostMoves   = 100
)

// placesOf are the nodes of a table of that size that a rule may be in (rules_hash of
// bpf/include/rules.h).
func placesOf(k classifierRulesKey, mask uint32) (places [classifierRulesLimitRULES_PLACES]uint32) {
	const odd = 0x9e3779b97f4a7c15
	hash := (uint64(k.Source)<<32 | uint64(k.Destination)) * odd
	hash = (hash>>32 ^ hash ^ uint64(k.Service)) * odd
	hash ^= hash >> 32
	for i := range places {
		places[i] = uint32(hash>>(32*i)) & mask
	}
	return places
}

// addRules puts the rules behind what there is: a hash table, half of it or less in use.
func (list *nodes) addRules(rules []classifierRulesRule, head *classifierRulesHead) {
	size := 1
	for size*perRuleNode < 2*len(rules) {
		size *= 2
	}
	table := newHashTable(size)
	for !table.fill(rules) {
		size *= 2
		table = newHashTable(size)
	}
	head.Rules, head.HashMask = uint32(len(*list)), uint32(size-1)
	for _, c := range table {
		*list = append(*list, nodeOf(c))
	}
}

// hashTable has each rule in its first place or in the other (cuckoo hashing).
type hashTable []classifierRulesRuleNode

func newHashTable(size int) hashTable {
	t := make(hashTable, size)
	for i := range t {
		for j := range perRuleNode {
			t[i].Rule[j].Key.Source = none
		}
	}
	return t
}

// fill reports whether there was a place for each rule.
func (t hashTable) fill(rules []classifierRulesRule) bool {
	for _, r := range rules {
		if !t.put(r) {
			return false
		}
	}
	return true
}

func (t hashTable) put(r classifierRulesRule) bool {
	for moved := range mostMoves {
		places := placesOf(r.Key, uint32(len(t)-1))
		for _, p := range places {
			for j := range perRuleNode {
				if t[p].Rule[j].Key.Source == none {
					t[p].Rule[j] = r
					return true
				}
			}
			t[p].Displaced = 1 // who does not find it here looks in the other
		}
		// Another one moves.
		out := &t[places[moved%len(places)]].Rule[moved%perRuleNode]
		r, *out = *out, r
	}
	return false
}
