package geo

import (
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// observed are the codes that the published country data has (June 2026), XK aside: all
// that ISO 3166-1 assigns, and those that nobody has any more.
const observed = "AD AE AF AG AI AL AM AN AO AP AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY " +
	"BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CS CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET EU FI FJ FK FM FO FR GA " +
	"GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI " +
	"KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA " +
	"NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK " +
	"SL SM SN SO SR SS ST SU SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF " +
	"WS XK YE YT ZA ZM ZW"

func TestEveryCountryHasOneContinent(t *testing.T) {
	count := map[string]int{}
	for _, c := range model.Continents {
		for country := range strings.FieldsSeq(c.Countries) {
			count[country]++
			if letters(country).continent() != c.Code {
				t.Errorf("%s is in %s, not in %s", country, letters(country).continent(), c.Code)
			}
		}
	}
	if len(count) != 249+1 {
		t.Errorf("%d countries: ISO 3166-1 has 249, and there is XK", len(count))
	}
	for country, n := range count {
		if n != 1 {
			t.Errorf("%s is there %d times", country, n)
		}
	}
	known := 0
	for country := range strings.FieldsSeq(observed) {
		if known++; letters(country).continent() == "" {
			t.Errorf("%s, which the data has, is on no continent", country)
		}
	}
	if known != len(count)+len(model.ReservedCountries) {
		t.Errorf("the data has %d codes, the table %d countries and %d that are no country's", known, len(count), len(model.ReservedCountries))
	}
}

func TestContinentsOfCodesThatAreNoCountrys(t *testing.T) {
	for text, want := range map[string]string{"AN": "NA", "AP": "AS", "CS": "EU", "EU": "EU", "SU": "EU", "XK": "EU", "QQ": "", "ZZ": ""} {
		if got := letters(text).continent(); got != want {
			t.Errorf("%s is in %q, want %q", text, got, want)
		}
	}
}

func TestCodesAreSpelledAsTheyAreRead(t *testing.T) {
	for c := none + 1; c < special; c++ {
		if letters(c.String()) != c {
			t.Fatalf("%d is spelled %q, which is %d", c, c.String(), letters(c.String()))
		}
	}
	for _, text := range []string{"", "F", "fi", "FIN", "F1", "??", "ÄÄ"} {
		if letters(text) != none {
			t.Errorf("%q is %s", text, letters(text))
		}
	}
	if none.String() != "" || special.String() != "" || special.known() {
		t.Error("what is no code is spelled")
	}
}

func TestCodesOfSourcesThatAreNoCountry(t *testing.T) {
	for _, c := range []struct {
		text, want string
		assigned   bool
		refused    bool
	}{
		{"FI", "FI", true, false},
		{"UK", "GB", true, false},
		{"EU", "EU", true, false},
		{"AP", "AP", true, false},
		{"AN", "AN", true, false},
		{"CS", "CS", true, false},
		{"SU", "SU", true, false},
		{"XK", "XK", true, false},
		{"??", "", true, false},
		{"ZZ", "", true, false},
		{"T1", "", true, false},
		{"A1", "", true, false},
		{"UN", "", false, false},
		{"QQ", "", false, false},
		{"fi", "", false, true},
		{"F", "", false, true},
		{"FIN", "", false, true},
		{"", "", false, true},
		{"B2", "", false, true},
	} {
		got, assigned, err := readCountry(c.text)
		if got.String() != c.want || assigned != c.assigned || (err != nil) != c.refused {
			t.Errorf("%q: %q, %v, %v", c.text, got, assigned, err)
		}
	}
}
