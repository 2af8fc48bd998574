package nftest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
)

// Bed is chains in the kernel. Call New.
type Bed struct {
	*nf.Trial
	T      testing.TB
	States nf.States
}

// Said is what a chain left.
type Said struct {
	Verdict  nf.Verdict
	Function uint32
	Packets  uint32
	To       netip.AddrPort // where a function sends the flow; invalid: none did; port 0: the flow's own
}

// New makes a bed without chains.
func New(t testing.TB) *Bed {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it loads programs")
	}
	trial, err := nf.NewTrial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trial.Close)
	return &Bed{Trial: trial, T: t}
}

// Put puts chains in the place of those before.
func (b *Bed) Put(chains ...nf.Chain) {
	b.T.Helper()
	for _, c := range chains {
		for j := range c.Steps {
			c.Steps[j].Name = fmt.Sprintf("%s/%d", c.Name, j)
		}
	}
	if err := b.Trial.Put(nf.Policy{Chains: chains}, &b.States); err != nil {
		b.T.Fatal(err)
	}
	b.States.Keep()
}

// Only puts one function into force, number 1, and returns the program that its packets meet.
func (b *Bed) Only(f nf.Function) *ebpf.Program {
	b.T.Helper()
	b.Put(nf.Chain{Name: "it", Rules: []nf.Rule{{}}, Steps: []nf.Step{{Number: 1, Function: f}}})
	return b.Made.XDP.Chains[len(b.Made.XDP.Chains)-1]
}

// Table is a map that a program uses.
func (b *Bed) Table(program *ebpf.Program, name string) *ebpf.Map {
	b.T.Helper()
	info, err := program.Info()
	if err != nil {
		b.T.Fatal(err)
	}
	ids, _ := info.MapIDs()
	for _, id := range ids {
		table, err := ebpf.NewMapFromID(id)
		if err != nil {
			b.T.Fatal(err)
		}
		if i, err := table.Info(); err == nil && i.Name == name {
			b.T.Cleanup(func() { _ = table.Close() })
			return table
		}
		_ = table.Close()
	}
	b.T.Fatalf("the program has no map %s", name)
	return nil
}

// Ask runs a packet through a program: the classifier, or a chain's.
func (b *Bed) Ask(program *ebpf.Program, p nf.Packet) Said {
	b.T.Helper()
	return b.Frame(program, make([]byte, 64), p)
}

// Frame is Ask with what is in the packet.
func (b *Bed) Frame(program *ebpf.Program, frame []byte, p nf.Packet) Said {
	b.T.Helper()
	after, err := b.Run(program, frame, p)
	if err != nil {
		b.T.Fatal(err)
	}
	said := Said{Verdict: nf.Verdict(after.Verdict), Function: after.Function, Packets: after.PacketProgram}
	if after.ToAddress != 0 {
		var a [4]byte
		binary.NativeEndian.PutUint32(a[:], after.ToAddress)
		said.To = netip.AddrPortFrom(netip.AddrFrom4(a), bits.ReverseBytes16(after.ToPort))
	}
	return said
}

// Classify runs a packet through the chain that is for it.
func (b *Bed) Classify(p nf.Packet) Said {
	b.T.Helper()
	return b.Ask(b.Made.XDP.Classifier, p)
}

// Count is what was counted for a function.
func (b *Bed) Count(number uint32) (all nf.Count) {
	b.T.Helper()
	var each []nf.Counters
	if err := b.Shared.Counts.Lookup(uint32(0), &each); err != nil {
		b.T.Fatal(err)
	}
	for i := range each {
		c := each[i].Of[number]
		all.Seen += c.Seen
		all.Failed += c.Failed
		all.Lost += c.Lost
	}
	return all
}

// Traced lets the programs that are put from now on write down what functions say.
func (b *Bed) Traced() *Bed {
	b.T.Helper()
	trace, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(binary.Size(nf.Trace{})), MaxEntries: 1})
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = trace.Close() })
	b.Shared.Trace = trace
	return b
}

// Looking is a traced bed with the chains of this one, whose functions look at what these remember.
func (b *Bed) Looking() *Bed {
	b.T.Helper()
	other := New(b.T).Traced()
	states := b.States.Look()
	defer states.Forget()
	if err := other.Trial.Put(b.Policy, states); err != nil {
		b.T.Fatal(err)
	}
	return other
}

// Dry asks about a packet that nobody sent, and writes in a line what a traced bed wrote down: the chains, and the functions
// by their numbers with what they said.
func (b *Bed) Dry(p nf.Packet) string {
	b.T.Helper()
	p.Dry = 1
	if err := b.Shared.Trace.Put(uint32(0), &nf.Trace{}); err != nil {
		b.T.Fatal(err)
	}
	got := b.Classify(p)
	var trace nf.Trace
	if err := b.Shared.Trace.Lookup(uint32(0), &trace); err != nil {
		b.T.Fatal(err)
	}
	line := ""
	for _, s := range trace.Step[:trace.Count] {
		if s.Kind == uint16(nf.TraceChain) {
			line += b.Policy.Chains[s.Number-1].Name + ": "
			continue
		}
		says := nf.Verdict(s.Says)
		word := map[nf.Verdict]string{nf.Continue: "continue", nf.Accept: "accept", nf.Drop: "drop", nf.ToUser: "to user", nf.Fail: "fail"}[says]
		line += fmt.Sprint(s.Number, " ", cmp.Or(word, fmt.Sprint("jump ", int(says)-int(nf.JumpTo))), ", ")
	}
	if got.Verdict == nf.Accept {
		return line + "passes"
	}
	return line + "drops"
}
