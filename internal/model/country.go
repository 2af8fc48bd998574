package model

import "strings"

// Continent has the codes of its countries, with spaces between them.
type Continent struct{ Code, Name, Countries string }

// Country is on a continent, both by their codes.
type Country struct{ Code, Continent string }

// Continents are the seven, by the codes that are usual for them. A country that lies on
// two is here on one: Russia, Cyprus and Kosovo in Europe; Turkey, Armenia, Azerbaijan,
// Georgia and Kazakhstan in Asia; Egypt in Africa.
//
// The countries are those of ISO 3166-1, and XK (Kosovo), which ISO leaves to users.
var Continents = []Continent{
	{"AF", "Africa", "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ " +
		"NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW"},
	{"AN", "Antarctica", "AQ BV GS HM TF"},
	{"AS", "Asia", "AE AF AM AZ BD BH BN BT CC CN GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP " +
		"OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE"},
	{"EU", "Europe", "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD " +
		"ME MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK"},
	{"NA", "North America", "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR " +
		"SV SX TC TT US VC VG VI"},
	{"OC", "Oceania", "AS AU CK CX FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS"},
	{"SA", "South America", "AR BO BR CL CO EC FK GF GY PE PY SR UY VE"},
}

// ReservedCountries are codes that no country has, but that registries and the tables made of
// their data use. They are selected as any country.
var ReservedCountries = []Country{
	{"AN", "NA"}, // Netherlands Antilles, until 2010
	{"AP", "AS"}, // somewhere in Asia or the Pacific
	{"CS", "EU"}, // Serbia and Montenegro, until 2006
	{"EU", "EU"}, // somewhere in Europe
	{"SU", "EU"}, // Soviet Union, until 1992
}

// continentOf is where each country is.
var continentOf = func() map[string]string {
	of := map[string]string{}
	for _, c := range Continents {
		for country := range strings.FieldsSeq(c.Countries) {
			of[country] = c.Code
		}
	}
	for _, r := range ReservedCountries {
		of[r.Code] = r.Continent
	}
	return of
}()

// IsCountry reports whether a country, or what is used as one, has the code.
func IsCountry(code string) bool { return continentOf[code] != "" }

// IsContinent reports whether a continent has the code.
func IsContinent(code string) bool {
	for _, c := range Continents {
		if c.Code == code {
			return true
		}
	}
	return false
}
