package config

import (
	"fmt"
	"testing"

	"github.com/realmgate/realmgate/internal/nf/filter"
)

func TestSetsAreRead(t *testing.T) {
	c, err := load("testdata/sets.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	bad, office := c.Sets[0], c.Sets[1]
	if got := fmt.Sprint(prefixes(bad.Addresses)); bad.File != "bad.txt" || got != "[198.51.100.0/23 203.0.113.7/32]" {
		t.Errorf("the set of a file: %s, %s", bad.File, got)
	}
	if got := fmt.Sprint(prefixes(office.Addresses)); got != "[192.0.2.0/24 192.0.3.1/32]" {
		t.Errorf("the set of addresses: %s", got)
	}
	if c.Chains[0].Matches[1].Set != "bad" || c.Chains[0].Functions[0].Settings.(filter.Settings).Deny[1].Set != "office" {
		t.Errorf("what names them: %+v", c.Chains[0])
	}
}
