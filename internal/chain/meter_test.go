package chain

import (
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"pgregory.net/rapid"
)

const udpOf, tcpOf, icmpOf = 17, 6, 1

// packetOf is a packet of a flow from outside.
func packetOf(source uint32, length uint16) classifierNfPacket {
	return classifierNfPacket{
		Source: source, Destination: 1, SourcePort: 1, DestinationPort: 2, Protocol: udpOf,
		Direction: uint8(classifierNfDirectionNF_IN), Length: length, Segments: 1,
	}
}

// metered puts one function into force and returns the program that its packets meet,
// with its table.
func (b *bed) metered(f Function) (*ebpf.Program, *ebpf.Map) {
	b.t.Helper()
	b.put(Chain{Name: "it", Rules: []Rule{{}}, Steps: []Step{{Number: 1, Function: f}}})
	if len(b.states.inForce) != 1 {
		b.t.Fatalf("%d tables, want one", len(b.states.inForce))
	}
	for _, m := range b.states.inForce {
		return b.made.XDP.Chains[len(b.made.XDP.Chains)-1], m
	}
	return nil, nil
}

// pass lets time go by for all meters.
func (b *bed) pass(table *ebpf.Map, d time.Duration) {
	b.t.Helper()
	for n := range table.MaxEntries() {
		var bucket rateLimitMeterBucket
		if err := table.Lookup(n, &bucket); err != nil {
			b.t.Fatal(err)
		}
		for i := range bucket.Way {
			bucket.Way[i].At -= uint64(d)
		}
		if err := table.Put(n, &bucket); err != nil {
			b.t.Fatal(err)
		}
	}
}

// window is figure 6.7 of Hanna's thesis, for one flow.
type window struct {
	start         time.Duration
	count, most   uint64
	verdict, next classifierNfVerdict
}

func (w *window) packet(now time.Duration, units uint64) classifierNfVerdict {
	w.count += units
	if now-w.start < windowLength {
		w.next = goOn
		if w.count > w.most {
			w.next = drop
		}
		return w.verdict
	}
	w.start, w.verdict, w.count = now, w.next, 0
	return w.verdict
}

const windowLength = 10 * time.Hour // so that what a test takes is nothing

// The window mode does what the thesis's program does, packet by packet, in packets and
// in bytes.
func TestWindowIsTheThesis(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, unit := range []Unit{Packets, Bytes} {
		const most = 1000
		program, table := b.metered(DoSDenial{Meter{Per: PerFlow, Unit: unit, Rate: most / windowLength.Seconds(), Window: windowLength, Entries: 4}})
		rapid.Check(t, func(rt *rapid.T) {
			if err := table.Put(uint32(0), &rateLimitMeterBucket{}); err != nil {
				t.Fatal(err)
			}
			now := 1000 * time.Hour
			model := window{most: most, verdict: goOn, next: goOn}
			for range rapid.IntRange(1, 40).Draw(rt, "bursts") {
				step := time.Duration(rapid.IntRange(0, 13).Draw(rt, "hours"))*time.Hour + time.Minute
				now += step
				b.pass(table, step)
				length := uint16(rapid.SampledFrom([]int{40, 300, 1500}).Draw(rt, "length"))
				for i := range rapid.SampledFrom([]int{1, 2, 30, 600}).Draw(rt, "packets") {
					units := uint64(1)
					if unit == Bytes {
						units = uint64(length)
					}
					want := model.packet(now, units)
					if want == goOn {
						want = accept
					}
					if got := b.ask(program, packetOf(7, length)).verdict; got != want {
						rt.Fatalf("at %v packet %d: %v, want %v", now, i, got, want)
					}
				}
			}
		})
	}
}

// A bucket of ten lets ten through at once, and one more each hour.
func TestTokenBucket(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for name, f := range map[string]func(Meter) Function{
		"dos-denial": func(m Meter) Function { return DoSDenial{m} }, "rate-limit": func(m Meter) Function { return RateLimit{m} },
	} {
		program, table := b.metered(f(Meter{Per: PerSource, Unit: Packets, Rate: 1.0 / 3600, Burst: 10*time.Hour + 30*time.Minute, Entries: 64}))
		through := func(source uint32) (n int) {
			for range 20 {
				if b.ask(program, packetOf(source, 100)).verdict == accept {
					n++
				}
			}
			return n
		}
		for _, want := range []int{10, 0} {
			if got := through(7); got != want {
				t.Errorf("%s: %d of 20 came through, want %d", name, got, want)
			}
		}
		if got := through(8); got != 10 {
			t.Errorf("%s: another source: %d of 20 came through, want 10", name, got)
		}
		b.pass(table, 3*time.Hour)
		if got := through(7); got != 3 {
			t.Errorf("%s: 3 hours later %d came through, want 3", name, got)
		}
	}
}

// What is counted, and for whom: of two packets the second is over a limit of one, if
// they count together.
func TestWhatMetersCount(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	in, out := uint8(classifierNfDirectionNF_IN), uint8(classifierNfDirectionNF_OUT)
	packet := func(change func(*classifierNfPacket)) classifierNfPacket {
		p := packetOf(7, 100)
		p.Protocol, p.TcpFlags, p.Opens = tcpOf, 0x02, 1
		change(&p)
		return p
	}
	same := packet(func(*classifierNfPacket) {})
	ping := func(id uint16) classifierNfPacket {
		return packet(func(p *classifierNfPacket) { p.Protocol, p.DestinationPort = icmpOf, id })
	}
	for name, c := range map[string]struct {
		per    Per
		unit   Unit
		second classifierNfPacket
		counts bool
	}{
		"the flow":                      {PerFlow, Packets, same, true},
		"another port is another flow":  {PerFlow, Packets, packet(func(p *classifierNfPacket) { p.SourcePort = 9 }), false},
		"another protocol too":          {PerFlow, Packets, packet(func(p *classifierNfPacket) { p.Protocol = udpOf }), false},
		"the source":                    {PerSource, Packets, packet(func(p *classifierNfPacket) { p.SourcePort, p.Destination = 9, 9 }), true},
		"another source":                {PerSource, Packets, packet(func(p *classifierNfPacket) { p.Source = 9 }), false},
		"the host":                      {PerHost, Packets, packet(func(p *classifierNfPacket) { p.Source, p.DestinationPort = 9, 9 }), true},
		"the host, going out":           {PerHost, Packets, packet(func(p *classifierNfPacket) { p.Direction, p.Source, p.Destination = out, 1, 9 }), true},
		"another host":                  {PerHost, Packets, packet(func(p *classifierNfPacket) { p.Destination = 9 }), false},
		"the service":                   {PerService, Packets, packet(func(p *classifierNfPacket) { p.Source, p.SourcePort = 9, 9 }), true},
		"another service":               {PerService, Packets, packet(func(p *classifierNfPacket) { p.DestinationPort = 9 }), false},
		"another ping to the host":      {PerService, Packets, ping(2), true},
		"a SYN":                         {PerSource, SYNs, same, true},
		"a SYN ACK is no SYN":           {PerSource, SYNs, packet(func(p *classifierNfPacket) { p.TcpFlags = 0x12 }), false},
		"a new session":                 {PerSource, Sessions, same, true},
		"one judged again is not new":   {PerSource, Sessions, packet(func(p *classifierNfPacket) { p.Opens = 0 }), false},
		"answers count for rate-limit":  {PerSource, Packets, packet(func(p *classifierNfPacket) { p.Answers = 1 }), true},
		"what nobody sent changes none": {PerSource, Packets, same, true},
	} {
		program, _ := b.metered(RateLimit{Meter{Per: c.per, Unit: c.unit, Rate: 1.0 / 3600, Burst: 90 * time.Minute, Entries: 64}})
		same.Direction = in
		sent := same
		if c.second.Protocol == icmpOf {
			sent = ping(1)
		}
		first := b.ask(program, sent).verdict
		want := accept
		if c.counts {
			want = drop
		}
		if second := b.ask(program, c.second).verdict; first != accept || second != want {
			t.Errorf("%s: first %v, second %v, want %v and %v", name, first, second, accept, want)
		}
		b.put() // forgets
	}
}

// Answers do not count for dos-denial, and a dry packet changes nothing.
func TestAnswersAndDryPackets(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	program, _ := b.metered(DoSDenial{Meter{Per: PerFlow, Unit: Packets, Rate: 1.0 / 3600, Burst: 90 * time.Minute, Entries: 64}})
	answer, dry := packetOf(7, 100), packetOf(7, 100)
	answer.Answers, dry.Dry = 1, 1
	for _, c := range []struct {
		packet classifierNfPacket
		want   classifierNfVerdict
	}{{answer, accept}, {dry, accept}, {answer, accept}, {packetOf(7, 100), accept}, {answer, accept}, {dry, drop}, {packetOf(7, 100), drop}} {
		if got := b.ask(program, c.packet).verdict; got != c.want {
			t.Errorf("%+v: %v, want %v", c.packet, got, c.want)
		}
	}
}

// A full table refuses new sources, and takes them again when others are idle; state
// outlives a change of the rate.
func TestMetersAreBounded(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	limit := func(rate float64) RateLimit {
		return RateLimit{Meter{Per: PerSource, Unit: Packets, Rate: rate, Burst: 10 * time.Hour, Entries: 4}}
	}
	program, table := b.metered(limit(1.0 / 3600))
	for source := uint32(1); source <= 5; source++ {
		want := accept
		if source == 5 {
			want = drop
		}
		if got := b.ask(program, packetOf(source, 100)).verdict; got != want {
			t.Errorf("source %d: %v, want %v", source, got, want)
		}
	}
	if n := b.count(1); n.Failed != 1 {
		t.Errorf("%d failures counted, want 1", n.Failed)
	}
	program, same := b.metered(limit(2.0 / 3600))
	if same != table {
		t.Error("the table did not outlive a change of the rate")
	}
	b.pass(table, 2*time.Hour)
	if got := b.ask(program, packetOf(5, 100)).verdict; got != accept {
		t.Errorf("others are idle: %v, want it accepted", got)
	}
}

// A packet whose clock was read just before another CPU began a window does not end it.
func TestWindowBegunElsewhere(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	program, table := b.metered(DoSDenial{Meter{Per: PerFlow, Unit: Packets, Rate: 1, Window: windowLength, Entries: 4}})
	b.ask(program, packetOf(7, 100))
	var bucket rateLimitMeterBucket
	if err := table.Lookup(uint32(0), &bucket); err != nil {
		t.Fatal(err)
	}
	for i := range bucket.Way {
		if bucket.Way[i].Who != 0 {
			bucket.Way[i].At += uint64(time.Hour)
			bucket.Way[i].Verdict = uint32(drop)
		}
	}
	if err := table.Put(uint32(0), &bucket); err != nil {
		t.Fatal(err)
	}
	if got := b.ask(program, packetOf(7, 100)).verdict; got != drop {
		t.Errorf("%v, want %v: the window that is dropped has just begun", got, drop)
	}
}
