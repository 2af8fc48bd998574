package nf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"

	"github.com/realmgate/realmgate/internal/model"
)

// fixed is a function that always says the same.
type fixed struct {
	verdict Verdict
	every   bool
	calls   bool // it wants a program of its own
}

func (f fixed) SeesEveryPacket() bool { return f.every }

func (f fixed) Compile(Context) (p Compiled, err error) {
	p.body = asm.Instructions{asm.Mov.Imm(asm.R0, int32(f.verdict))}
	p.ToUser = f.verdict == toUser
	if f.calls {
		call := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoCall, Constant: -1}
		p.ownProgram = &ownProgram{calls: asm.Instructions{p.body[0].WithSymbol("said"), asm.Return()}, licence: licence}
		p.body = asm.Instructions{call.WithReference("said")}
	}
	return p, nil
}

const (
	goOn   = Continue
	accept = Accept
	drop   = Drop
	toUser = ToUser
	fail   = Fail
	jump   = JumpTo
)

// denying is a function that drops what rules match.
type denying []Rule

func (denying) SeesEveryPacket() bool { return false }

func (d denying) Compile(c Context) (Compiled, error) {
	rules := slices.Clone(d)
	for i := range rules {
		rules[i].Value = uint32(Drop)
	}
	return Matching(rules, c)
}

// steps numbers functions from first on.
func steps(first uint32, functions ...fixed) (list []Step) {
	for i, f := range functions {
		list = append(list, Step{Number: first + uint32(i), Function: f})
	}
	return list
}

// The first function that decides has the last word, also in a program of its own; the
// others are not asked.
func TestFirstDecides(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, own := range []bool{false, true} {
		for name, c := range map[string]struct {
			steps []Step
			want  said
			seen  []uint64
		}{
			"nobody":                 {steps(1, fixed{goOn, false, own}, fixed{goOn, false, own}), said{verdict: accept}, []uint64{1, 1}},
			"no function":            {nil, said{verdict: accept}, nil},
			"accept":                 {steps(1, fixed{accept, false, own}, fixed{drop, false, own}), said{accept, 1, 0}, []uint64{1, 0}},
			"drop":                   {steps(1, fixed{goOn, false, own}, fixed{drop, false, own}, fixed{accept, false, own}), said{drop, 2, 0}, []uint64{1, 1, 0}},
			"fails":                  {steps(1, fixed{fail, false, own}, fixed{accept, false, own}), said{drop, 1, 0}, []uint64{1, 0}},
			"says what nobody knows": {steps(1, fixed{99, false, own}), said{drop, 1, 0}, []uint64{1}},
		} {
			t.Run(name, func(t *testing.T) {
				b.t = t
				b.put(Chain{Name: "it", Rules: []Rule{{}}, Steps: c.steps})
				before := make([]uint64, len(c.seen))
				for i := range before {
					before[i] = b.count(uint32(i + 1)).Seen
				}
				if got := b.classify(Packet{}); got != c.want {
					t.Errorf("%+v, want %+v", got, c.want)
				}
				for i, want := range c.seen {
					if seen := b.count(uint32(i+1)).Seen - before[i]; seen != want {
						t.Errorf("function %d was asked %d times, want %d", i+1, seen, want)
					}
				}
			})
		}
	}
}

// TestProtectionRule11_FailOpenOrClosed: a function that cannot judge drops, and one that is
// to fail open is passed over; both are counted.
func TestProtectionRule11_FailOpenOrClosed(t *testing.T) {
	t.Parallel()
	for open, want := range map[bool]said{false: {drop, 1, 0}, true: {accept, 2, 0}} {
		b := newBed(t)
		row := steps(1, fixed{fail, false, false}, fixed{accept, false, false})
		row[0].FailOpen = open
		b.put(Chain{Name: "it", Rules: []Rule{{}}, Steps: row})
		if got := b.classify(Packet{}); got != want {
			t.Errorf("open %t: %+v, want %+v", open, got, want)
		}
		if n := b.count(1); n.Failed != 1 || n.Seen != 1 || n.Samples != 1 || n.Ns == 0 {
			t.Errorf("open %t: counted %+v, want one failure, timed", open, n)
		}
	}
}

// Of the questions to a function each CPU times the first, and then one in so many, whatever function of the chain it is.
func TestOneQuestionInSoManyIsTimed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.put(Chain{Name: "it", Rules: []Rule{{}}, Steps: steps(1, fixed{goOn, false, false}, fixed{goOn, false, false}, fixed{accept, false, false})})
	for range 2*(sampleMask+1) + 2 {
		b.classify(Packet{})
	}
	var each []classifierNfCounters
	if err := b.Shared.Counts.Lookup(uint32(0), &each); err != nil {
		t.Fatal(err)
	}
	for cpu := range each {
		for number := 1; number <= 3; number++ {
			n := each[cpu].Of[number]
			if want := (n.Seen + sampleMask) / (sampleMask + 1); n.Samples != want {
				t.Errorf("CPU %d: of %d questions to function %d %d were timed, want %d", cpu, n.Seen, number, n.Samples, want)
			}
		}
	}
}

// The further packets of a flow are judged by the functions that see every packet and
// were asked about its first, those before a jump among them.
func TestFurtherPackets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	sees := fixed{goOn, true, false}
	chains := []Chain{
		{Name: "a", Rules: []Rule{{Protocol: 6}}, Steps: steps(1, sees, fixed{jump, false, false}, sees)},
		{Name: "b", Rules: []Rule{{Protocol: 17}}, Steps: steps(4, fixed{goOn, false, false}, sees, fixed{accept, false, false}, sees)},
		{Name: "c", Rules: []Rule{{}}, Steps: steps(8, fixed{accept, false, false}, sees)},
	}
	chains[0].Steps[1].Jumps = []int{1}
	b.put(chains...)
	for _, c := range []struct {
		protocol uint8
		decides  uint32
		further  []uint32 // functions that see the next packet
	}{{6, 6, []uint32{1, 5}}, {17, 6, []uint32{5}}, {1, 8, nil}} {
		got := b.classify(Packet{Protocol: c.protocol, Direction: 1})
		if got.verdict != accept || got.function != c.decides {
			t.Errorf("protocol %d: %+v, want it accepted by %d", c.protocol, got, c.decides)
		}
		if got.packets == 0 {
			if c.further != nil {
				t.Errorf("protocol %d: nobody sees further packets", c.protocol)
			}
			continue
		}
		before := map[uint32]uint64{}
		for n := uint32(1); n < 10; n++ {
			before[n] = b.count(n).Seen
		}
		b.ask(b.Made.XDP.Chains[got.packets-1], Packet{})
		var saw []uint32
		for n := uint32(1); n < 10; n++ {
			if b.count(n).Seen > before[n] {
				saw = append(saw, n)
			}
		}
		if len(saw) != len(c.further) || len(saw) > 0 && (saw[0] != c.further[0] || saw[len(saw)-1] != c.further[len(saw)-1]) {
			t.Errorf("protocol %d: %v saw a further packet, want %v", c.protocol, saw, c.further)
		}
	}
}

// A packet goes through so many programs in a row, and chains that would take more are
// refused: the kernel would end it in the middle.
func TestProgramsInARow(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	own := fixed{goOn, false, true}
	row := func(first uint32, count int) (list []Step) {
		for i := range count {
			list = append(list, steps(first+uint32(i), own)...)
		}
		return list
	}
	half := mostInRow / 2
	for _, c := range []struct {
		a, b    int
		refused bool
	}{{half, half, false}, {half + 1, half, true}, {mostInRow, 1, true}, {1, mostInRow, true}} {
		a, other := row(1, c.a), row(100, c.b)
		for i, chain := range [][]Step{a, other} {
			for j := range chain {
				chain[j].Name = fmt.Sprint(i, j)
			}
		}
		a[c.a-1].Jumps = []int{1}
		made, err := Build(Policy{Chains: []Chain{{Name: "a", Rules: []Rule{{}}, Steps: a}, {Name: "b", Steps: other}}}, b.Shared, 1, &b.states)
		if err == nil {
			made.Close()
		}
		if refused := err != nil && strings.Contains(err.Error(), "programs in a row"); refused != c.refused || err != nil && !refused {
			t.Errorf("%d programs and %d: %v", c.a, c.b, err)
		}
	}
}

// The kernel takes a chain of as many filters as one may have, and asks them all.
func TestLongestChain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	steps := make([]Step, 10)
	for i := range steps {
		steps[i] = Step{Number: uint32(i + 1), Function: denying{{Ports: model.Ports{First: 1, Last: 1}}}}
	}
	steps[9].Function = denying{{}}
	b.put(Chain{Name: "long", Rules: []Rule{{}}, Steps: steps})
	if got := b.classify(Packet{Protocol: uint8(model.TCP), Direction: uint8(model.In)}); got.verdict != Drop || got.function != 10 {
		t.Errorf("%+v", got)
	}
}

// Jumps past functions that see every packet need ever more programs: beyond what there
// is room for they are refused.
func TestTooManyPrograms(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var chains []Chain
	for i := range mostInRow {
		var row []Step
		for j := range 8 {
			row = append(row, steps(uint32(1+16*i+2*j), fixed{goOn, true, false}, fixed{jump, false, false})...)
		}
		for j := range row {
			row[j].Name = fmt.Sprint(i, j)
			if j%2 == 1 && i+1 < mostInRow {
				row[j].Jumps = []int{i + 1}
			}
		}
		chains = append(chains, Chain{Name: fmt.Sprint(i), Rules: []Rule{{}}, Steps: row})
	}
	made, err := Build(Policy{Chains: chains}, b.Shared, 1, &b.states)
	if err == nil {
		made.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "chains take more than 1023 programs") {
		t.Errorf("%v, want it refused", err)
	}
}

// Where a direction's flows have one chain whatever else they are, or none, the
// classifier is not asked about them.
func TestEntryOfADirection(t *testing.T) {
	t.Parallel()
	out, in := Rule{Direction: model.Out, Value: 1}, Rule{Direction: model.In, Value: 2}
	web := Rule{Direction: model.In, Protocol: model.TCP, Ports: model.Ports{First: 80, Last: 80}, Value: 3}
	from := Rule{Source: netip.MustParsePrefix("10.0.0.0/8"), Value: 4}
	all := Rule{Value: 5}
	for name, c := range map[string]struct {
		rules   []Rule
		in, out uint32
	}{
		"none":                  {nil, 0, 0},
		"one direction":         {[]Rule{out}, 0, 1},
		"both":                  {[]Rule{out, in}, 2, 1},
		"a condition first":     {[]Rule{out, web, in}, ByClassifier, 1},
		"a condition too late":  {[]Rule{in, web, out}, 2, 1},
		"a condition of either": {[]Rule{from, all}, ByClassifier, ByClassifier},
		"all":                   {[]Rule{all, from}, 5, 5},
		"the rest":              {[]Rule{web, all}, ByClassifier, 5},
	} {
		if gotIn, gotOut := entry(c.rules, model.In), entry(c.rules, model.Out); gotIn != c.in || gotOut != c.out {
			t.Errorf("%s: in %d, out %d, want %d and %d", name, gotIn, gotOut, c.in, c.out)
		}
	}
}
