package model

import (
	"strings"
	"testing"
)

func TestParseRegion(t *testing.T) {
	for _, text := range []string{"country:FI", "country:XK", "country:EU", "continent:EU", "continent:OC", "asn:1", "asn:64500", "asn:4294967295"} {
		r, err := ParseRegion(text)
		if err != nil || r.String() != text {
			t.Errorf("%s: %s, %v", text, r, err)
		}
	}
	for text, want := range map[string]string{
		"FI":               "there is country:FI",
		"fi":               "there is country:FI",
		"OC":               "there is continent:OC",
		"":                 "want country:FI, continent:EU or asn:64500",
		"64500":            "want country:FI",
		"Country:FI":       "want country:FI",
		"region:FI":        "want country:FI",
		"country:fi":       "there is country:FI",
		"country:UK":       "there is country:GB",
		"country:QQ":       "no country",
		"country:OC":       "there is continent:OC",
		"country: FI":      "no country",
		"country:":         "no country",
		"country:??":       "no country",
		"continent:FI":     "there is country:FI",
		"continent:eu":     "EU (Europe)",
		"continent:Europe": "no continent",
		"asn:0":            "1 to 4294967295",
		"asn:AS64500":      "1 to 4294967295",
		"asn:064500":       "1 to 4294967295",
		"asn:+1":           "1 to 4294967295",
		"asn:4294967296":   "1 to 4294967295",
		"asn:":             "1 to 4294967295",
	} {
		r, err := ParseRegion(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, r, err, want)
		}
	}
}

func FuzzParseRegion(f *testing.F) {
	for _, text := range []string{"country:FI", "continent:EU", "asn:64500", "SA", "asn:0", ":"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRegion(text)
		if err == nil && r.String() != text {
			t.Fatalf("%q became %q", text, r)
		}
	})
}
