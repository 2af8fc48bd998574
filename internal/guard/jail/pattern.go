package jail

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Placeholder stands in a pattern for the place of the address.
const Placeholder = "<ADDRESS>"

const (
	longestPattern = 2048 // bytes
	longestAddress = 45   // bytes: 0000:…:0000:255.255.255.255
	group          = "ADDRESS"
	// place is what the placeholder becomes: any address or host name, as long as what
	// follows it in the pattern leaves it. It is wider than addresses on purpose. The place
	// is then found in the same way when it holds a name or "UNKNOWN", instead of another
	// text of the line becoming the place.
	place = `(?-iU:(?P<` + group + `>[0-9A-Za-z.:_%-]+))`
)

// matcher finds the address in lines that one pattern describes.
type matcher struct {
	expression *regexp.Regexp
	group      int
	literal    []byte // every line that matches has it; empty: none is known
}

// compile refuses what cannot say surely whose address a line has.
func compile(pattern string) (*matcher, error) {
	switch n := strings.Count(pattern, Placeholder); {
	case len(pattern) > longestPattern:
		return nil, fmt.Errorf("it is longer than %d bytes", longestPattern)
	case n != 1:
		return nil, fmt.Errorf("%s is there %d times: mark the one place where the line has the address", Placeholder, n)
	}
	text := strings.Replace(pattern, Placeholder, place, 1)
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("it is no regular expression of RE2: %w", err)
	}
	if err := checkForm(tree); err != nil {
		return nil, err
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("it is no regular expression of RE2: %w", err)
	}
	m := &matcher{expression: expression, group: expression.SubexpIndex(group), literal: literal(tree)}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("it is no regular expression of RE2: %w", err)
	}
	line, forged, err := twoPlaces(program, m.group)
	if err != nil {
		return nil, err
	}
	if forged {
		return nil, fmt.Errorf("it finds the address in two places of a line like %q, so that who writes one of them "+
			"can have others banned: describe the line up to the address, or from the address to the end ($), without text of any form", line)
	}
	return m, nil
}

// checkForm wants the begin of the line, and the placeholder on every way through.
func checkForm(tree *syntax.Regexp) error {
	if tree.Op != syntax.OpConcat || !isBegin(tree.Sub[0]) {
		return errors.New("it must begin with ^, and what stands first on the line: else it may match text that a stranger wrote further on")
	}
	if free(tree.Sub[1]) {
		return errors.New("it begins with text of any form, which is as if it had no ^: " +
			"describe the time and the name of the program that writes the line, or a stranger's text is taken for such a line")
	}
	if !surely(tree) {
		return fmt.Errorf("%s must not stand in brackets, in a group that repeats, or in one of several alternatives", Placeholder)
	}
	return nil
}

func isBegin(r *syntax.Regexp) bool { return r.Op == syntax.OpBeginText || r.Op == syntax.OpBeginLine }

// free reports whether an expression is any text of any length.
func free(r *syntax.Regexp) bool {
	for r.Op == syntax.OpCapture || r.Op == syntax.OpConcat && len(r.Sub) > 0 {
		r = r.Sub[0]
	}
	switch r.Op {
	case syntax.OpStar, syntax.OpPlus:
	case syntax.OpRepeat:
		if r.Max >= 0 {
			return false
		}
	default:
		return false
	}
	return r.Sub[0].Op == syntax.OpAnyChar || r.Sub[0].Op == syntax.OpAnyCharNotNL
}

// surely reports whether each match passes the placeholder's group once.
func surely(r *syntax.Regexp) bool {
	if r.Op == syntax.OpCapture && r.Name == group {
		return true
	}
	if r.Op != syntax.OpCapture && r.Op != syntax.OpConcat {
		return false
	}
	for _, sub := range r.Sub {
		if surely(sub) {
			return true
		}
	}
	return false
}

// literal returns the longest text that every match has. To look for it costs a fraction
// of the expression, and most lines of a log do not have it.
func literal(tree *syntax.Regexp) (longest []byte) {
	for _, sub := range tree.Sub {
		if sub.Op != syntax.OpLiteral || sub.Flags&syntax.FoldCase != 0 {
			continue
		}
		// An expression takes each byte that is no UTF-8 for U+FFFD.
		if text := string(sub.Rune); len(text) > len(longest) && !strings.ContainsRune(text, utf8.RuneError) {
			longest = []byte(text)
		}
	}
	return longest
}

// find returns the address in a line; none if its place holds something else. IPv4
// addresses written as IPv6 ones are IPv4.
func (m *matcher) find(line []byte) (a netip.Addr, matched bool) {
	if !bytes.Contains(line, m.literal) {
		return a, false
	}
	at := m.expression.FindSubmatchIndex(line)
	if at == nil {
		return a, false
	}
	text := line[at[2*m.group]:at[2*m.group+1]]
	if len(text) > longestAddress {
		return a, true
	}
	a, err := netip.ParseAddr(string(text))
	if err != nil || a.Zone() != "" { // a zone is of one link of one machine
		return netip.Addr{}, true
	}
	return a.Unmap(), true
}
