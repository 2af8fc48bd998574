package api

import "testing"

func TestHealthSentence(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Status{
		"All is well: 1 session and 0 open offers, 16 names lent so far, nothing is full.": {Sessions: Gauge{1, 10}, Lent: 16},
		"One thing is wrong: b":                                              {Warnings: []string{"b"}, Sessions: Gauge{10, 10}},
		"2 things are wrong. The first: a":                                   {Warnings: []string{"b", "a"}},
		"Nearly full: 10 of 10 mappings; see capacity in the configuration.": {Mappings: Gauge{10, 10}},
	} {
		if got := s.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
