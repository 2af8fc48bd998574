package policy

import "slices"

// Vouched is how an edge was found to speak for a zone, in the order of "at least".
type Vouched uint8

// From nothing to a key that the configuration has.
const (
	Nobody Vouched = iota
	DNSSEC
	Certificate
	Pinned
)

// Name is how much of a host's name its edge tells, in the order of "at least".
type Name uint8

// From the edge's own name to the host's.
const (
	ByEdge Name = iota
	Pseudonym
	Full
)

// Confidential is whether packets have to be encrypted. Auto takes either.
type Confidential uint8

// The three wishes. Yes and No are both narrower than Auto, and have nothing in common.
const (
	Auto Confidential = iota
	Yes
	No
)

// The words of configuration, messages and listings: whole words, never a part of one.
var (
	vouchedWords      = []string{Nobody: "nobody", DNSSEC: "dnssec", Certificate: "certificate", Pinned: "pinned"}
	nameWords         = []string{ByEdge: "edge", Pseudonym: "pseudonym", Full: "full"}
	confidentialWords = []string{Auto: "auto", Yes: "yes", No: "no"}
)

// String returns the word.
func (v Vouched) String() string { return vouchedWords[v] }

// String returns the word.
func (n Name) String() string { return nameWords[n] }

// String returns the word.
func (c Confidential) String() string { return confidentialWords[c] }

// ParseVouched reads a word; the empty one, which says nothing, is the widest.
func ParseVouched(word string) (Vouched, bool) { return parse[Vouched](vouchedWords, word) }

// ParseName reads a word; the empty one, which says nothing, is the widest.
func ParseName(word string) (Name, bool) { return parse[Name](nameWords, word) }

// ParseConfidential reads a word; the empty one, which says nothing, is the widest.
func ParseConfidential(word string) (Confidential, bool) {
	return parse[Confidential](confidentialWords, word)
}

func parse[T ~uint8](words []string, word string) (T, bool) {
	i := slices.Index(words, word)
	return T(max(i, 0)), i >= 0 || word == ""
}
