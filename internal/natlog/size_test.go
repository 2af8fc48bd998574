package natlog

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/lab"
)

// lived is a mapping of the test, and when it began and ended.
type lived struct {
	record     Record
	begun, end time.Time
}

// drawn keeps some of many, each as likely as any other.
type drawn struct {
	random *rand.Rand
	all    int
	kept   []lived
}

func (d *drawn) note(l lived, most int) {
	d.all++
	switch {
	case len(d.kept) < most:
		d.kept = append(d.kept, l)
	default:
		if i := d.random.IntN(d.all); i < most {
			d.kept[i] = l
		}
	}
}

// Of 10⁷ mappings in a day, whose ports are used again and again, each of 1,000 is found with its host at any time of its life,
// and nobody just before and behind it: 99 of 100 within a second.
func TestTraceInADayOfMappings(t *testing.T) {
	mappings := 200_000
	if lab.Lengthy() {
		mappings = 10_000_000
	}
	const draws, addresses = 1000, 2
	random := rand.New(rand.NewPCG(1, 2))
	w := newWriter(t)
	w.at = time.Date(2026, 11, 30, 0, 0, 1, 0, time.UTC)
	w.put(Record{Kind: LogBegun})
	standing := map[netip.AddrPort]*lived{}
	w.standing = func(visit func(Record)) error {
		for _, l := range standing {
			stands := l.record
			stands.Kind, stands.Time = MappingStands, w.at
			visit(stands)
		}
		return nil
	}
	step := 24 * time.Hour / time.Duration(mappings)
	some := drawn{random: random}
	var records []Record
	ports := make([]netip.AddrPort, 0, 60_000)
	for i := range 60_000 {
		ports = append(ports, netip.AddrPortFrom([]netip.Addr{outside, outside.Next()}[i%addresses], uint16(2000+i/addresses)))
	}
	begun := time.Now()
	for i := range mappings {
		w.pass(step)
		at := ports[random.IntN(len(ports))]
		if old := standing[at]; old != nil { // it ends, and somebody else has the port a moment later
			old.end = w.at
			ended := old.record
			ended.Kind, ended.Time = MappingEnded, w.at
			records = append(records, ended)
			some.note(*old, draws)
			w.pass(3 * time.Millisecond)
		}
		host := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		r := Record{Time: w.at, Kind: MappingBegun, Protocol: model.UDP, External: at, Private: netip.AddrPortFrom(host, at.Port()), Synchronised: true}
		records = append(records, r)
		standing[at] = &lived{record: r, begun: w.at}
		if len(records) >= batch {
			w.put(records...)
			records = records[:0]
		}
	}
	w.put(records...)
	wrote := time.Since(begun)
	var took []time.Duration
	ask := func(l lived, at time.Time, want netip.AddrPort) {
		t.Helper()
		start := time.Now()
		said, err := w.look(query{l.record.External.Addr(), l.record.External.Port(), model.UDP, at})
		took = append(took, time.Since(start))
		var got netip.AddrPort
		if len(said.users) > 0 {
			got = said.users[0].record.Private
		}
		if err != nil || got != want || len(said.users) > 1 || said.lost > 0 || said.gap {
			t.Errorf("%s at %s: %v, want %v: %+v, %v", l.record.External, at.Format(timeForm), got, want, said, err)
		}
	}
	for _, l := range some.kept {
		life := l.end.Sub(l.begun).Milliseconds()
		ask(l, l.begun.Add(time.Duration(random.Int64N(max(1, life)))*time.Millisecond), l.record.Private)
	}
	asked := len(took)
	for _, l := range some.kept[:100] {
		ask(l, l.end.Add(time.Millisecond), netip.AddrPort{}) // the next has it from 3 ms behind the end on
	}
	took = took[:asked]
	slices.Sort(took)
	var size int64
	files, _ := filepath.Glob(w.path + "/*")
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	t.Logf("%d mappings written in %v, %d MB of files; %d answers: median %v, p99 %v, longest %v", mappings, wrote.Round(time.Millisecond), size>>20,
		asked, took[asked/2], took[asked*99/100], took[asked-1])
	if p99 := took[asked*99/100]; p99 > time.Second && !lab.Lengthy() {
		t.Errorf("99 of 100 answers took up to %v", p99)
	}
}
