package geo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// code is a country code of two capital letters, counted from 1 for AA. 0 is no code.
type code uint16

const (
	none    code = 0
	special code = 26*26 + 1 // of addresses that are nowhere: see special.go
)

// nowhere are codes by which tables say that they do not know a country, or what an
// address is used for instead.
var nowhere = []string{"??", "ZZ", "A1", "A2", "A3", "O1", "T1", "XD"}

// continentOf is the place of each code's continent in model.Continents, from 1; 0 where
// nobody has the code.
var continentOf = func() (of [special]uint8) {
	at := map[string]uint8{}
	for i, c := range model.Continents {
		at[c.Code] = uint8(i + 1)
		for country := range strings.FieldsSeq(c.Countries) {
			of[letters(country)] = uint8(i + 1)
		}
	}
	for _, r := range model.ReservedCountries {
		of[letters(r.Code)] = at[r.Continent]
	}
	return of
}()

// spelled has all codes one after the other, so that none is made anew.
var spelled = func() string {
	var all strings.Builder
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			all.WriteRune(a)
			all.WriteRune(b)
		}
	}
	return all.String()
}()

// letters returns the code that text spells; none where it is not two capital letters.
func letters(text string) code {
	if len(text) != 2 || text[0] < 'A' || text[0] > 'Z' || text[1] < 'A' || text[1] > 'Z' {
		return none
	}
	return code(text[0]-'A')*26 + code(text[1]-'A') + 1
}

func (c code) String() string {
	if c == none || c >= special {
		return ""
	}
	return spelled[2*(c-1) : 2*c]
}

// known reports whether a country, or what is used as one, has the code.
func (c code) known() bool { return c != none && c < special && continentOf[c] != 0 }

// continent returns the two letters of the continent; "" for a code that nobody has.
func (c code) continent() string {
	if !c.known() {
		return ""
	}
	return model.Continents[continentOf[c]-1].Code
}

// readCountry returns the code that a source means. Those that say nothing are none.
// assigned is false for two letters that nobody has.
func readCountry(text string) (c code, assigned bool, err error) {
	if text == "UK" {
		return letters("GB"), true, nil // reserved for it, and used instead of GB
	}
	if c = letters(text); c.known() {
		return c, true, nil
	}
	if slices.Contains(nowhere, text) {
		return none, true, nil
	}
	if c == none {
		return none, false, fmt.Errorf("want a country code of two capital letters, not %s", quote(text))
	}
	return none, false, nil
}

// quote shows text of a file in an error, cut where it is long.
func quote(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%q...", text[:40])
	}
	return fmt.Sprintf("%q", text)
}
