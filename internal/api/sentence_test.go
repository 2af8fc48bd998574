package api

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestHealthSentence(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Status{
		"All is well: 1 session and 0 open offers, 16 names lent so far, nothing is full.": {Sessions: Gauge{1, 10}, Lent: 16},
		"All is well: 1 session, 3 bans.":                                                  {Bans: 3, Sessions: Gauge{1, 4096}, Interfaces: []Interface{{Name: "eth0", Side: "public"}}},
		"All is well: 3 bans.":                                                             {Bans: 3, Interfaces: []Interface{{Name: "eth0", Side: "public"}}},
		"All is well: 0 sessions and 0 open offers, 0 names lent so far, nothing is full.": {Bans: 3, Interfaces: []Interface{{Name: "eth0", Side: "public"}, {Name: "eth1", Side: "private"}}},
		"One thing is wrong: b":                                                            {Warnings: []string{"b"}, Sessions: Gauge{10, 10}},
		"2 things are wrong. The first: a":                                                 {Warnings: []string{"b", "a"}},
		"Nearly full: 10 of 10 mappings; see capacity in the configuration.":               {Mappings: Gauge{10, 10}},
	} {
		if got := s.Sentence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What a status of nothing says in JSON has no null.
func TestEmptyStatus(t *testing.T) {
	t.Parallel()
	var s Status
	s.Complete()
	text, err := json.Marshal(s)
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%v: %s", err, text)
	}
}
