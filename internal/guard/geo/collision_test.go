package geo

import (
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// collisions are the codes that are a country's, or used as one, and a continent's. elsewhere
// is a country of the continent.
var collisions = []struct{ code, continentOfCountry, elsewhere string }{
	{"AF", "AS", "KE"}, // Afghanistan, Africa
	{"AN", "NA", "AQ"}, // Netherlands Antilles (until 2010, and in the data), Antarctica
	{"AS", "OC", "JP"}, // American Samoa, Asia
	{"EU", "EU", "FI"}, // somewhere in Europe, Europe
	{"NA", "AF", "US"}, // Namibia, North America
	{"SA", "AS", "BR"}, // Saudi Arabia, South America
}

func TestThereAreSixCollisions(t *testing.T) {
	var codes []string
	for _, c := range collisions {
		codes = append(codes, c.code)
	}
	var found []string
	for _, c := range model.Continents {
		if model.IsCountry(c.Code) {
			found = append(found, c.Code)
		}
	}
	if strings.Join(codes, " ") != strings.Join(found, " ") {
		t.Errorf("%v collide, the tests are of %v", found, codes)
	}
}

// ipt_geofence kept countries and continents in one list, so that SA was both Saudi Arabia
// and South America.
func TestProtectionRule2_CollidingCodesAreApart(t *testing.T) {
	for _, c := range collisions {
		t.Run(c.code, func(t *testing.T) {
			if _, err := model.ParseRegion(c.code); err == nil || !strings.Contains(err.Error(), "both country:"+c.code+" and continent:"+c.code) {
				t.Errorf("the code alone: %v", err)
			}
			country, continent := deny(t, "country:"+c.code), deny(t, "continent:"+c.code)
			at := placeOf(letters(c.code), 0)
			if at.Continent != c.continentOfCountry {
				t.Errorf("%s is on %s", c.code, at.Continent)
			}
			if got, _ := country.Decide(at, anyAddress); got != Deny {
				t.Error("the country is not denied by its own rule")
			}
			if got, _ := continent.Decide(at, anyAddress); (got == Deny) != (c.code == c.continentOfCountry) {
				t.Errorf("the continent's rule says %s of the country", got)
			}
			other := placeOf(letters(c.elsewhere), 0)
			if got, _ := country.Decide(other, anyAddress); got != Allow {
				t.Errorf("the country's rule denies %s", c.elsewhere)
			}
			if got, _ := continent.Decide(other, anyAddress); got != Deny {
				t.Errorf("the continent's rule allows %s", c.elsewhere)
			}
		})
	}
}
