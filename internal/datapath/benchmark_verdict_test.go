package datapath

import (
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	benchmarkBans  = 20_000
	benchmarkFlows = 150_000 // a third of them in the rounds
)

// BenchmarkVerdict measures what deciding about a first packet takes, part by part:
// bans of which some are near each destination, the way to a chain that says yes and
// back, and both. Each is beyond the same session where nothing is decided. In each
// round all of them open as many sessions, one after the other.
func BenchmarkVerdict(b *testing.B) {
	const fresh = benchmarkFlows / 3
	const sessions = benchmarkFlows - fresh
	options := Options{Capacity: benchmarkFlows, Outbound: outboundAddresses(1 + sessions/32_000)}
	var rigs []*rig
	kinds := []string{"nothing", "bans", "chain", "both"}
	for _, kind := range kinds {
		r := newRig(b, options)
		if kind == "bans" || kind == "both" {
			r.ban(benchmarkBans)
		}
		if kind == "chain" || kind == "both" {
			r.judge(0)
		}
		r.fill(sessions, model.UDP)
		r.aim(flows(sessions, options.Capacity, model.UDP))
		rigs = append(rigs, r)
	}
	beyond := compareRigs(b, rigs, func(i int, r *rig, t *timings) {
		r.measure(t, r.program(false), false, i*(fresh/rounds), fresh/rounds)
	})
	for k, name := range kinds[1:] {
		b.ReportMetric(beyond[k], name+"-ns")
	}
}

// BenchmarkEveryPacket measures what packets of open sessions take beyond others where a
// chain sees every one.
func BenchmarkEveryPacket(b *testing.B) {
	for _, protocol := range []model.Protocol{model.UDP, model.TCP} {
		b.Run(protocol.String(), func(b *testing.B) { everyPacket(b, protocol) })
	}
}

func everyPacket(b *testing.B, protocol model.Protocol) {
	const sessions = 10_000
	var rigs []*rig
	for range 2 {
		rigs = append(rigs, newRig(b, Options{Capacity: sessions * 2, Outbound: outboundAddresses(1)}))
	}
	rigs[1].judge(1)
	for _, r := range rigs {
		r.fill(sessions, protocol)
		r.aim(r.outgoing())
		r.run(r.program(false), false, sessions, xdpRedirect) // each session learns its next hop
	}
	beyond := compareRigs(b, rigs, func(_ int, r *rig, t *timings) {
		r.measure(t, r.program(false), false, 0, chunk)
	})
	b.ReportMetric(beyond[0], "beyond-ns")
}

// compareRigs measures rigs in turns, and returns how much longer each takes than the
// first one.
func compareRigs(b *testing.B, rigs []*rig, measure func(round int, r *rig, t *timings)) (beyond []float64) {
	b.Helper()
	times := make([]timings, len(rigs))
	for i := range rounds {
		for k, r := range rigs {
			measure(i, r, &times[k])
		}
	}
	for _, t := range times[1:] {
		differences := make([]float64, rounds)
		for i := range differences {
			differences[i] = t.whole[i] - times[0].whole[i]
		}
		beyond = append(beyond, median(differences))
	}
	b.ReportMetric(median(times[0].whole)-median(times[0].parse), "ns/op")
	return beyond
}

func (r *rig) ban(count int) {
	r.tb.Helper()
	list := map[netip.Prefix]time.Time{}
	for i := range count { // flows that nobody opens
		list[netip.PrefixFrom(addressOf(flow(benchmarkFlows+i, model.UDP).Destination), 32)] = Forever
	}
	if err := r.data.PutBans(list); err != nil {
		r.tb.Fatal(err)
	}
}

// judge makes every flow be judged by a chain that says yes, whose first program sees
// every further packet, too, where packets is 1.
func (r *rig) judge(packets uint32) {
	r.tb.Helper()
	made, err := r.data.MakeChains(func(tables ChainTables, first uint32) (made Chains, err error) {
		lookup := asm.LoadMapPtr(asm.R1, 0)
		if err := lookup.AssociateMap(tables.Packets); err != nil {
			return made, err
		}
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4), lookup, asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "end"),
			asm.StoreImm(asm.R0, int16(unsafe.Offsetof(bpfNfPacket{}.Verdict)), int64(SaysAccept), asm.Word),
			asm.StoreImm(asm.R0, int16(unsafe.Offsetof(bpfNfPacket{}.PacketProgram)), int64(packets*first), asm.Word),
			asm.Mov.Imm(asm.R0, int32(xdpPass)).WithSymbol("end"), asm.Return(),
		}})
		return Chains{XDP: ChainPrograms{Classifier: program, Chains: []*ebpf.Program{program}}, In: first, Out: first}, err
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	defer made.Close()
	if _, err = r.data.SetPolicy(rigSettings, nil, made); err != nil {
		r.tb.Fatal(err)
	}
}
