package datapath

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
)

// Dry runs packets that nobody sent through the data plane (bpf/trace/dry.h): its programs
// are compiled and loaded once more, see the same tables, change nothing of them, and write
// down their steps. Not safe for concurrent use.
type Dry struct {
	data   *Datapath
	mode   Mode
	spec   *ebpf.CollectionSpec
	tables map[string]*ebpf.Map
	own    map[string]*ebpf.Map // those that real packets do not see
	chains Chains
	runs   uint32
	// Of each side, loaded when it is needed: the kernel takes a third of a second for each.
	public struct {
		Public *ebpf.Program `ebpf:"explain_public"`
	}
	single struct {
		Single *ebpf.Program `ebpf:"explain_single"`
	}
	flows struct {
		Flows *ebpf.Program `ebpf:"explain_single_in"`
	}
	private struct {
		Private *ebpf.Program `ebpf:"explain_private"`
		Hairpin *ebpf.Program `ebpf:"explain_hairpin"`
	}
	edges struct { // of those that have any
		Out *ebpf.Program `ebpf:"explain_edge_out"`
	}
}

// ofDry are the tables that a dry run has for itself: what programs tell each other, what
// they count and learn, and whom they tell. Of those with a size it needs no more.
var ofDry = map[string]uint32{
	"answer_budgets": 0, "budgets": 0, "capture_rings": 0, "capture_snaps": 0, "chains": 0, "claim_events": 0, "dry_sessions": 0, "flow_events": 0, "flow_rows": 1,
	"fragment_contexts": 1, "fragment_holds": 1, "fragment_octets": 1, "fragments_here": 0, "held_fragments": 1,
	"identifications": 0, "locks": 0, "new_flows": 0, "next_hops": 0, "nf_counts": 0, "nf_packets": 0, "programs": 0,
	"questions": 0, "reason_counters": 0, "route_cache": 0, "statistics": 0,
	"traces": 0, "honeypot_events": 0,
}

// OpenDry makes ready for packets of interfaces in a mode, XDP or TCX, but for SetChains. The caller closes it.
func (d *Datapath) OpenDry(mode Mode) (*Dry, error) {
	read := loadExplain
	if mode == TCX {
		read = loadExplainTCX
	}
	spec, err := read()
	if err == nil {
		err = applyLayout(spec, &d.layout, &d.options)
	}
	if err != nil {
		return nil, fmt.Errorf("read the compiled programs of dry runs: %w", err)
	}
	x := &Dry{data: d, mode: mode, spec: spec, tables: d.shared(spec, nil), own: map[string]*ebpf.Map{}}
	for name, entries := range ofDry {
		if entries > 0 {
			spec.Maps[name].MaxEntries = entries
		}
		if x.own[name], err = ebpf.NewMap(spec.Maps[name]); err != nil {
			return nil, errors.Join(fmt.Errorf("make %s for dry runs: %w", name, err), x.Close())
		}
		x.tables[name] = x.own[name]
	}
	return x, nil
}

// entry is where packets of a side come in.
func (x *Dry) entry(public bool) (*ebpf.Program, error) {
	into, program := any(&x.private), &x.private.Private
	switch {
	case public && x.data.options.SingleFlows:
		into, program = &x.flows, &x.flows.Flows
	case public && x.data.options.Single:
		into, program = &x.single, &x.single.Single
	case public:
		into, program = &x.public, &x.public.Public
	}
	if !public {
		if err := x.join(); err != nil {
			return nil, err
		}
	}
	if *program != nil {
		return *program, nil
	}
	if err := x.spec.Copy().LoadAndAssign(into, &ebpf.CollectionOptions{MapReplacements: x.tables}); err != nil {
		return nil, x.data.notLoaded(err)
	}
	if !public {
		if err := x.own["programs"].Put(uint32(bpfProgramPROGRAM_HAIRPIN), x.private.Hairpin); err != nil {
			return nil, fmt.Errorf("set a program that dry runs enter by tail call: %w", err)
		}
	}
	return *program, nil
}

// join loads what packets to proxy addresses come to, if there are edges.
func (x *Dry) join() error {
	if !x.data.edges.Load() || x.edges.Out != nil {
		return nil
	}
	if err := x.spec.Copy().LoadAndAssign(&x.edges, &ebpf.CollectionOptions{MapReplacements: x.tables}); err != nil {
		return x.data.notLoaded(err)
	}
	if err := x.own["programs"].Put(uint32(bpfProgramPROGRAM_EDGE_OUT), x.edges.Out); err != nil {
		return fmt.Errorf("set a program that dry runs enter by tail call: %w", err)
	}
	return nil
}

// SetChains makes the chains of the generation in force once more, in the place of those before; build may be nil. No policy
// may be set until the last Run with them.
func (x *Dry) SetChains(build BuildChains) error {
	x.closeChains()
	if build == nil {
		return nil
	}
	if err := x.build(build); err != nil {
		return fmt.Errorf("make the chains of dry runs: %w", err)
	}
	return nil
}

func (x *Dry) build(build BuildChains) error {
	generation, err := x.data.Generation()
	if err != nil {
		return err
	}
	tables := ChainTables{Packets: x.own["nf_packets"], Counts: x.own["nf_counts"], Snaps: x.own["capture_snaps"], Rings: x.own["capture_rings"], Trace: x.own["traces"]}
	if x.mode == TCX {
		tables.TCXChains = x.own["chains"]
	} else {
		tables.Chains = x.own["chains"]
	}
	first, _ := chainsOf(generation)
	if x.chains, err = build(tables, first); err != nil {
		return err
	}
	made := &x.chains.XDP
	if x.mode == TCX {
		made = &x.chains.TCX
	}
	return (&form{programs: x.own["programs"], chains: x.own["chains"]}).putChains(generation, made)
}

func (x *Dry) closeChains() {
	x.chains.XDP.close()
	x.chains.TCX.close()
	x.chains = Chains{}
}

// Close gives up programs and tables.
func (x *Dry) Close() error {
	x.closeChains()
	errs := []error{closePrograms(&x.private), closePrograms(&x.edges), closePrograms(&x.public), closePrograms(&x.single), closePrograms(&x.flows)}
	for _, m := range x.own {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// Lease is what a pool address is taken to be lent for.
type Lease struct {
	Host  netip.Addr
	Port  uint16 // the host's own
	Whole bool   // the host opens everything
}

// Frame is a frame and how it comes in.
type Frame struct {
	Public  bool // by the public side
	Ifindex int
	Octets  []byte
}

// Run runs a frame through the programs as if it had come in, and returns their steps. With
// a host in lent, the pool address that it goes to is taken to be lent for that.
// It must run in the gateway's network namespace.
func (x *Dry) Run(in Frame, lent Lease) ([]TraceStep, error) {
	x.runs++
	trace := explainTrace{LentPort: swap(lent.Port), Run: x.runs}
	if lent.Host.IsValid() {
		trace.LentHost = networkOrder(lent.Host)
	}
	if lent.Whole {
		trace.LentWhole = 1
	}
	if err := x.own["traces"].Put(uint32(0), &trace); err != nil {
		return nil, fmt.Errorf("prepare the steps of a dry run: %w", err)
	}
	program, err := x.entry(in.Public)
	if err != nil {
		return nil, err
	}
	options := ebpf.RunOptions{Data: in.Octets, DataOut: make([]byte, len(in.Octets)+256), Context: SKBuff{Ifindex: uint32(in.Ifindex)}}
	if x.mode == XDP {
		options.Context = XDPMd{DataEnd: uint32(len(in.Octets)), IngressIfindex: uint32(in.Ifindex)}
	}
	if _, err := program.Run(&options); err != nil {
		return nil, fmt.Errorf("run a frame of %d bytes dry: %w", len(in.Octets), err)
	}
	if err := x.own["traces"].Lookup(uint32(0), &trace); err != nil {
		return nil, fmt.Errorf("read the steps of a dry run: %w", err)
	}
	if int(trace.Count) > len(trace.Step) {
		return nil, fmt.Errorf("a dry run took %d steps: at most %d are kept", trace.Count, len(trace.Step))
	}
	steps := make([]TraceStep, trace.Count)
	for i := range steps {
		s := &trace.Step[i]
		steps[i] = TraceStep{Kind: TraceKind(s.Kind), Says: s.Says, Number: s.Number, Address: addressOf(s.Address), Port: swap(s.Port)}
	}
	return steps, nil
}

// Asked returns the numbers of the functions that have been asked since it was called last.
// The protection of IPv6 leaves no steps.
func (x *Dry) Asked() (map[uint32]bool, error) {
	var each []bpfNfCounters // of each CPU
	if err := x.own["nf_counts"].Lookup(uint32(0), &each); err != nil {
		return nil, fmt.Errorf("read which functions a dry run asked: %w", err)
	}
	asked := map[uint32]bool{}
	for i := range each {
		for number, c := range each[i].Of {
			if c.Seen > 0 {
				asked[uint32(number)] = true
			}
		}
	}
	if err := x.own["nf_counts"].Put(uint32(0), make([]bpfNfCounters, len(each))); err != nil {
		return nil, fmt.Errorf("forget which functions a dry run asked: %w", err)
	}
	return asked, nil
}

// XDPMd is struct xdp_md of linux/bpf.h.
type XDPMd struct {
	Data, DataEnd, DataMeta                     uint32
	IngressIfindex, RxQueueIndex, EgressIfindex uint32
}

// SKBuff is struct __sk_buff of linux/bpf.h as far as it is set.
type SKBuff struct {
	_       [10]uint32
	Ifindex uint32
	_       uint32
	CB      [5]uint32
	_       [24]uint32
	GsoSegs uint32
	_       [2]uint32
	GsoSize uint32
	_       [3]uint32
}
