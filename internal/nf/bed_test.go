package nf

import (
	"fmt"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

// bed runs chains without a gateway.
type bed struct {
	*Trial
	t      testing.TB
	states States
}

// said is what a chain left.
type said struct {
	verdict  Verdict
	function uint32
	packets  uint32
}

func newBed(t testing.TB) *bed {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("needs root: it loads programs")
	}
	trial, err := NewTrial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Close)
	return &bed{Trial: trial, t: t}
}

// put puts chains in the place of those before.
func (b *bed) put(chains ...Chain) {
	b.t.Helper()
	for i := range chains {
		for j := range chains[i].Steps {
			step := &chains[i].Steps[j]
			step.Name = fmt.Sprintf("%s/%d", chains[i].Name, j)
		}
	}
	b.putPolicy(Policy{Chains: chains})
}

func (b *bed) putPolicy(policy Policy) {
	b.t.Helper()
	if err := b.Put(policy, &b.states); err != nil {
		b.t.Fatal(err)
	}
	b.states.Keep()
}

// ask runs a packet through a program: the classifier, or a chain's by its number.
func (b *bed) ask(program *ebpf.Program, p Packet) said {
	b.t.Helper()
	after, err := b.Run(program, make([]byte, 64), p)
	if err != nil {
		b.t.Fatal(err)
	}
	return said{Verdict(after.Verdict), after.Function, after.PacketProgram}
}

func (b *bed) classify(p Packet) said {
	b.t.Helper()
	return b.ask(b.Made.XDP.Classifier, p)
}

func (b *bed) count(number uint32) (all classifierNfCount) {
	b.t.Helper()
	var each []classifierNfCounters
	if err := b.Shared.Counts.Lookup(uint32(0), &each); err != nil {
		b.t.Fatal(err)
	}
	for i := range each {
		c := each[i].Of[number]
		all.Seen += c.Seen
		all.Failed += c.Failed
		all.Samples += c.Samples
		all.Ns += c.Ns
		all.Lost += c.Lost
	}
	return all
}
