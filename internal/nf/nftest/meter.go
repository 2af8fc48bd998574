package nftest

import (
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
)

// Metered puts one function that has meters into force, number 1, and returns the program that its packets meet, with its table.
func (b *Bed) Metered(f nf.Function) (*ebpf.Program, *ebpf.Map) {
	b.T.Helper()
	program := b.Only(f)
	return program, b.Table(program, "meters")
}

// Pass lets time go by for all meters.
func (b *Bed) Pass(meters *ebpf.Map, d time.Duration) {
	b.T.Helper()
	for n := range meters.MaxEntries() {
		var bucket meter.CMeterBucket
		if err := meters.Lookup(n, &bucket); err != nil {
			b.T.Fatal(err)
		}
		for i := range bucket.Way {
			bucket.Way[i].At -= uint64(d)
		}
		if err := meters.Put(n, &bucket); err != nil {
			b.T.Fatal(err)
		}
	}
}

// Contents are all bytes of a table.
func (b *Bed) Contents(table *ebpf.Map) (all [][]byte) {
	b.T.Helper()
	for n := range table.MaxEntries() {
		value, err := table.LookupBytes(n)
		if err != nil {
			b.T.Fatal(err)
		}
		all = append(all, value)
	}
	return all
}

// Burst is a packet that comes several times at once.
type Burst struct {
	After        time.Duration // since the burst before
	Packet       nf.Packet
	Sent, Passes int // Passes: of these the first
}

// Times makes a burst.
func Times(after time.Duration, p nf.Packet, sent, passes int) Burst {
	return Burst{After: after, Packet: p, Sent: sent, Passes: passes}
}

// Bursts sends bursts through a function with meters that are new. Before each it asks about its packet as one that nobody sent:
// that says the same as the first that is sent, and changes no meter. Each packet is counted once, and none finds no place.
func (b *Bed) Bursts(f nf.Function, bursts ...Burst) {
	b.T.Helper()
	b.Put() // forgets
	program, meters := b.Metered(f)
	begin, asked := b.Count(1), uint64(0)
	for i, burst := range bursts {
		asked += uint64(burst.Sent) + 1 // and dry
		b.Pass(meters, burst.After)
		dry, before := burst.Packet, b.Contents(meters)
		dry.Dry = 1
		told := b.Ask(program, dry).Verdict
		if after := b.Contents(meters); !slices.EqualFunc(before, after, slices.Equal) {
			b.T.Errorf("burst %d: a dry packet changed a meter", i)
		}
		for n := range burst.Sent {
			want := nf.Accept
			if n >= burst.Passes {
				want = nf.Drop
			}
			got := b.Ask(program, burst.Packet).Verdict
			if got != want {
				b.T.Errorf("burst %d, packet %d: %v, want %v", i, n, got, want)
			}
			if n == 0 && told != got {
				b.T.Errorf("burst %d: %v, and a dry packet was told %v", i, got, told)
			}
		}
	}
	if end := b.Count(1); end.Seen-begin.Seen != asked || end.Failed != begin.Failed {
		b.T.Errorf("counted %+v, before %+v, and it was asked %d times", end, begin, asked)
	}
}
