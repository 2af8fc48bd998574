package meter_test

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/dosdenial"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/nftest"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
)

const udpOf, tcpOf, icmpOf = 17, 6, 1

// packetOf is a packet of a flow from outside.
func packetOf(source uint32, length uint16) nf.Packet {
	return nf.Packet{
		Source: source, Destination: 1, SourcePort: 1, DestinationPort: 2, Protocol: udpOf,
		Direction: uint8(model.In), Length: length, Segments: 1,
	}
}

// A bucket of ten lets ten through at once, and one more each hour.
func TestTokenBucket(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, f := range map[string]func(meter.Meter) nf.Function{
		"dos-denial": func(m meter.Meter) nf.Function { return dosdenial.DoSDenial{Meter: m} }, "rate-limit": func(m meter.Meter) nf.Function { return ratelimit.RateLimit{Meter: m} },
	} {
		program, table := b.Metered(f(meter.Meter{Per: meter.PerSource, Unit: meter.Packets, Rate: 1.0 / 3600, Burst: 10*time.Hour + 30*time.Minute, Entries: 64}))
		through := func(source uint32) (n int) {
			for range 20 {
				if b.Ask(program, packetOf(source, 100)).Verdict == nf.Accept {
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
		b.Pass(table, 3*time.Hour)
		if got := through(7); got != 3 {
			t.Errorf("%s: 3 hours later %d came through, want 3", name, got)
		}
	}
}

// What is counted, and for whom: of two packets the second is over a limit of one, if
// they count together.
func TestWhatMetersCount(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	in, out := uint8(model.In), uint8(model.Out)
	packet := func(change func(*nf.Packet)) nf.Packet {
		p := packetOf(7, 100)
		p.Protocol, p.TcpFlags, p.Opens = tcpOf, 0x02, 1
		change(&p)
		return p
	}
	same := packet(func(*nf.Packet) {})
	ping := func(id uint16) nf.Packet {
		return packet(func(p *nf.Packet) { p.Protocol, p.DestinationPort = icmpOf, id })
	}
	for name, c := range map[string]struct {
		per    meter.Per
		unit   meter.Unit
		second nf.Packet
		counts bool
	}{
		"the flow":                      {meter.PerFlow, meter.Packets, same, true},
		"another port is another flow":  {meter.PerFlow, meter.Packets, packet(func(p *nf.Packet) { p.SourcePort = 9 }), false},
		"another protocol too":          {meter.PerFlow, meter.Packets, packet(func(p *nf.Packet) { p.Protocol = udpOf }), false},
		"the source":                    {meter.PerSource, meter.Packets, packet(func(p *nf.Packet) { p.SourcePort, p.Destination = 9, 9 }), true},
		"another source":                {meter.PerSource, meter.Packets, packet(func(p *nf.Packet) { p.Source = 9 }), false},
		"the host":                      {meter.PerHost, meter.Packets, packet(func(p *nf.Packet) { p.Source, p.DestinationPort = 9, 9 }), true},
		"the host, going out":           {meter.PerHost, meter.Packets, packet(func(p *nf.Packet) { p.Direction, p.Source, p.Destination = out, 1, 9 }), true},
		"another host":                  {meter.PerHost, meter.Packets, packet(func(p *nf.Packet) { p.Destination = 9 }), false},
		"the service":                   {meter.PerService, meter.Packets, packet(func(p *nf.Packet) { p.Source, p.SourcePort = 9, 9 }), true},
		"another service":               {meter.PerService, meter.Packets, packet(func(p *nf.Packet) { p.DestinationPort = 9 }), false},
		"another ping to the host":      {meter.PerService, meter.Packets, ping(2), true},
		"a SYN":                         {meter.PerSource, meter.SYNs, same, true},
		"a SYN ACK is no SYN":           {meter.PerSource, meter.SYNs, packet(func(p *nf.Packet) { p.TcpFlags = 0x12 }), false},
		"a new session":                 {meter.PerSource, meter.Sessions, same, true},
		"one judged again is not new":   {meter.PerSource, meter.Sessions, packet(func(p *nf.Packet) { p.Opens = 0 }), false},
		"answers count for rate-limit":  {meter.PerSource, meter.Packets, packet(func(p *nf.Packet) { p.Answers = 1 }), true},
		"what nobody sent changes none": {meter.PerSource, meter.Packets, same, true},
	} {
		program, _ := b.Metered(ratelimit.RateLimit{Meter: meter.Meter{Per: c.per, Unit: c.unit, Rate: 1.0 / 3600, Burst: 90 * time.Minute, Entries: 64}})
		same.Direction = in
		sent := same
		if c.second.Protocol == icmpOf {
			sent = ping(1)
		}
		first := b.Ask(program, sent).Verdict
		want := nf.Accept
		if c.counts {
			want = nf.Drop
		}
		if second := b.Ask(program, c.second).Verdict; first != nf.Accept || second != want {
			t.Errorf("%s: first %v, second %v, want %v and %v", name, first, second, nf.Accept, want)
		}
		b.Put() // forgets
	}
}

func id(m *ebpf.Map) ebpf.MapID {
	info, err := m.Info()
	if err != nil {
		return 0
	}
	id, _ := info.ID()
	return id
}

// A full table refuses new sources, and takes them again when others are idle; state
// outlives a change of the rate.
func TestMetersAreBounded(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	limit := func(rate float64) ratelimit.RateLimit {
		return ratelimit.RateLimit{Meter: meter.Meter{Per: meter.PerSource, Unit: meter.Packets, Rate: rate, Burst: 10 * time.Hour, Entries: 4}}
	}
	program, table := b.Metered(limit(1.0 / 3600))
	for source := uint32(1); source <= 5; source++ {
		want := nf.Accept
		if source == 5 {
			want = nf.Drop
		}
		if got := b.Ask(program, packetOf(source, 100)).Verdict; got != want {
			t.Errorf("source %d: %v, want %v", source, got, want)
		}
	}
	if n := b.Count(1); n.Failed != 1 {
		t.Errorf("%d failures counted, want 1", n.Failed)
	}
	program, same := b.Metered(limit(2.0 / 3600))
	if id(same) != id(table) {
		t.Error("the table did not outlive a change of the rate")
	}
	b.Pass(table, 2*time.Hour)
	if got := b.Ask(program, packetOf(5, 100)).Verdict; got != nf.Accept {
		t.Errorf("others are idle: %v, want it accepted", got)
	}
}

// A dry run says what the meters in force would say now, and they stay as they are.
func TestDryRunUsesNothingUp(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	const hours = 3600
	for name, f := range map[string]nf.Function{
		"rate-limit": ratelimit.RateLimit{Meter: meter.Meter{Per: meter.PerSource, Unit: meter.Packets, Rate: 1.0 / hours, Burst: 90 * time.Minute, Entries: 4}},
		"a window":   dosdenial.DoSDenial{Meter: meter.Meter{Per: meter.PerSource, Unit: meter.Packets, Rate: 1.0 / hours, Window: time.Hour, Entries: 4}},
	} {
		program, table := b.Metered(f)
		judge := func(source, want string) {
			t.Helper()
			before := b.Contents(table)
			dry := b.Looking()
			for range 3 {
				if got := dry.Dry(packetFrom(source)); got != want {
					t.Errorf("%s: %s: %q, want %q", name, source, got, want)
				}
			}
			if after := b.Contents(table); !slices.EqualFunc(before, after, slices.Equal) {
				t.Errorf("%s: %s changed the table", name, source)
			}
		}
		passes, drops := "it: 1 continue, passes", "it: 1 drop, drops"
		judge("203.0.113.1", passes)
		for range 3 {
			b.Ask(program, packetFrom("203.0.113.1"))
		}
		if name == "a window" { // what brought too much is dropped in the next
			judge("203.0.113.1", passes)
			b.Pass(table, 3*time.Hour)
		}
		judge("203.0.113.1", drops)
		judge("203.0.113.2", passes)
		b.Put() // forgets
	}
}

func packetFrom(source string) nf.Packet {
	a := netip.MustParseAddr(source).As4()
	return packetOf(binary.NativeEndian.Uint32(a[:]), 100)
}
