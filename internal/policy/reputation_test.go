package policy

import "testing"

// A fresh address of a /24 whose others abandon what they ask for is no newcomer.
func TestReputationOfTheSubnet(t *testing.T) {
	a := New(defaults)
	k, fresh := asker(1), asker(1<<22)
	for range 10 {
		a.Outcome(0, k, Abandoned)
	}
	fresh.Client = k.Client
	if r := a.Reputation(0, fresh); r > 0.2 {
		t.Errorf("a fresh address of the /24 has %.2f", r)
	}
	if r := a.Reputation(0, asker(1<<22)); r != FirstReputation {
		t.Errorf("one of another /24 has %.2f", r)
	}
}
