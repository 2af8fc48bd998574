package datapath

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// chunk is how many frames of the program under test come between two chunks
// that are only parsed: the machine's speed drifts, so the two are interleaved.
const chunk = 50_000

var sessionCounts = []int{1_000, 100_000, 1_000_000}

// median spoils its argument.
func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// timings are means of chunks, in nanoseconds a packet, generator included.
type timings struct{ parse, miss, whole []float64 }

// measure runs one chunk of each program over the same tuples.
func (r *rig) measure(t *timings, program *ebpf.Program, public bool, position, count int) {
	r.tb.Helper()
	r.seek(position)
	t.parse = append(t.parse, r.run(r.generator.BenchmarkParse, public, count, xdpPass))
	r.seek(position)
	t.miss = append(t.miss, r.run(r.generator.BenchmarkMiss, public, count, xdpPass))
	r.seek(position)
	t.whole = append(t.whole, r.run(program, public, count, xdpRedirect))
}

// report makes ns/op the time above parsing, and says beside it what parsing
// takes with the generator, what one read of memory that is in no cache takes
// above it, and how many such reads the program is worth.
func (t *timings) report(b *testing.B) {
	b.Helper()
	parse, miss, whole := median(t.parse), median(t.miss), median(t.whole)
	b.ReportMetric(whole-parse, "ns/op")
	b.ReportMetric(parse, "parse-ns")
	b.ReportMetric(miss-parse, "miss-ns")
	b.ReportMetric((whole-parse)/(miss-parse), "misses")
}

// fill opens sessions 0 to count-1.
func (r *rig) fill(count int, protocol model.Protocol) {
	r.tb.Helper()
	r.aim(flows(0, count, protocol))
	r.run(r.program(false), false, count, xdpRedirect)
	r.wantSessions(count)
}

func (r *rig) wantSessions(count int) {
	r.tb.Helper()
	usage, err := r.data.Usage()
	if err != nil || usage.Sessions != uint64(count) {
		r.tb.Fatalf("%d sessions are open, want %d: %v", usage.Sessions, count, err)
	}
}

// BenchmarkEstablished measures packets of open sessions in random order.
// Every session has a mapping and a filter entry of its own: the worst case.
func BenchmarkEstablished(b *testing.B) {
	for _, sessions := range sessionCounts {
		for _, protocol := range []model.Protocol{model.UDP, model.TCP} {
			b.Run(fmt.Sprintf("sessions=%d/%s", sessions, protocol), func(b *testing.B) {
				r := newRig(b, Options{Capacity: max(sessions, model.MinCapacity), Outbound: outboundAddresses(1 + sessions/32_000)})
				r.fill(sessions, protocol)
				out, in := r.outgoing(), r.replies()
				b.Run("out", func(b *testing.B) { r.established(b, out, r.program(false), false) })
				b.Run("in", func(b *testing.B) { r.established(b, in, r.program(true), true) })
			})
		}
	}
}

func (r *rig) established(b *testing.B, tuples []tuple, program *ebpf.Program, public bool) {
	b.Helper()
	var t timings
	r.aim(tuples)
	r.run(program, public, len(tuples), xdpRedirect) // each session learns its next hop
	for done := 0; done < b.N || len(t.whole) < 5; done += chunk {
		r.measure(&t, program, public, done, chunk)
	}
	t.report(b)
}

// rounds is how many chunks of new sessions a table takes that holds enough.
const rounds = 20

// BenchmarkNew measures the first packets of sessions, in a table that holds
// so many already and grows by half meanwhile. out makes session, mapping and
// filter entry; pool claims a reservation
// by a datagram: SYNs, which claim by proof, would soon be answered by cookies.
func BenchmarkNew(b *testing.B) {
	for _, sessions := range sessionCounts {
		options := Options{Capacity: max(sessions*3/2, model.MinCapacity), Outbound: outboundAddresses(1 + sessions/32_000)}
		fresh := options.Capacity - sessions
		b.Run(fmt.Sprintf("sessions=%d/out", sessions), func(b *testing.B) {
			r := newRig(b, options)
			r.fill(sessions, model.UDP)
			r.aim(flows(sessions, options.Capacity, model.UDP))
			r.opening(b, r.program(false), false, fresh)
			r.wantSessions(sessions + fresh/rounds*rounds)
		})
		b.Run(fmt.Sprintf("sessions=%d/pool", sessions), func(b *testing.B) {
			r := newRig(b, options)
			r.fill(sessions, model.UDP)
			r.reserveMany()
			r.aim(r.knocks(fresh))
			r.opening(b, r.program(true), true, fresh)
			r.wantSessions(sessions + fresh/rounds*rounds)
		})
	}
}

func (r *rig) opening(b *testing.B, program *ebpf.Program, public bool, fresh int) {
	b.Helper()
	var t timings
	for i := range rounds {
		r.measure(&t, program, public, i*(fresh/rounds), fresh/rounds)
	}
	t.report(b)
}

// rigPorts is how many ports of the pool address are bound.
const rigPorts = 64

// bind binds the pool address to the host, by rigPorts ports.
func (r *rig) bind() Binding {
	r.tb.Helper()
	b := Binding{ID: 7 << 32, Address: rigPool, Host: rigHost}
	for i := range uint16(rigPorts) {
		b.Ports = append(b.Ports, model.Port{Protocol: model.UDP, Port: 1 + i, To: 1 + i})
	}
	if err := r.data.Bind(b); err != nil {
		r.tb.Fatal(err)
	}
	return b
}

// reserveMany makes as many reservations as there are ports; each has 65,535 claims.
func (r *rig) reserveMany() {
	r.tb.Helper()
	b := r.bind()
	for i := range rigPorts {
		err := r.data.Reserve(Reservation{
			ID: 1<<32 | uint64(i), Binding: b.ID, Asker: rigRouter, Expires: Now().Add(3600e9), Claims: 65_535,
		})
		if err != nil {
			r.tb.Fatal(err)
		}
	}
	events, err := r.data.Claims()
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _ = events.Close() })
	go func() {
		for {
			if _, err := events.Next(); err != nil {
				return
			}
		}
	}()
}

// knocks are first packets to the pool address from count clients.
func (r *rig) knocks(count int) []tuple {
	list := make([]tuple, count)
	for i := range list {
		list[i] = tuple{
			Source: networkOrder(netip.AddrFrom4([4]byte{65, byte(i >> 16), byte(i >> 8), byte(i)})), SourcePort: swap(40_000),
			Destination: networkOrder(rigPool), DestinationPort: swap(uint16(1 + i%rigPorts)),
			Protocol: uint8(model.UDP),
		}
	}
	return shuffled(list)
}
