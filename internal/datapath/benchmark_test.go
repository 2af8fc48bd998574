package datapath

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/lab"
)

//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem benchmark -output-suffix _test -type benchmark_tuple -type benchmark_state benchmark ../../bpf/benchmark.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -I/usr/include/x86_64-linux-gnu
//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -strip llvm-strip-19 -target bpfel -go-package datapath -output-stem benchmark_tcx -output-suffix _test -no-global-types benchmarkTCX ../../bpf/benchmark.bpf.c -- -O2 -g -mcpu=v3 -Wall -Werror -DCTX_SKB -I/usr/include/x86_64-linux-gnu

// rig is a data plane in a namespace, with a generator of frames before it
// (bpf/benchmark.bpf.c). The realm's hosts, 10.128.0.0/9, stand behind hostA;
// everyone outside behind the router: packets take the redirect path.
type rig struct {
	tb              testing.TB
	namespace, peer *netns.Namespace
	data            *Datapath
	mode            Mode // of the programs that are measured, and of the generator
	generator       benchmarkObjects
	public, private int // interface indexes
	first, tuples   int // that the generator goes round
	row             int // of mixed traffic: so many for one side, then as many for the other
}

var (
	rigRouter = netip.MustParseAddr("198.18.0.254")
	rigHost   = netip.MustParseAddr("10.0.0.100")
	rigPool   = netip.MustParseAddr("198.18.0.200")
)

var rigSettings = Settings{
	Filtering: model.AddressDependent, PortQuarantine: 120 * time.Second,
	Timeouts: model.Timeouts{
		model.TimeoutTCPEstablished: 7440 * time.Second, model.TimeoutTCPTransitory: 240 * time.Second, model.TimeoutTCPClosing: 240 * time.Second,
		model.TimeoutUDP: 300 * time.Second, model.TimeoutUDPUnanswered: 300 * time.Second, model.TimeoutDNS: 300 * time.Second,
		model.TimeoutICMP: 60 * time.Second, model.TimeoutOthers: 300 * time.Second,
	},
	Refuse: true, ClientSessions: 256,
}

// outboundAddresses returns count addresses, none of them on an interface.
func outboundAddresses(count int) []netip.Addr {
	list := make([]netip.Addr, count)
	for i := range list {
		list[i] = netip.AddrFrom4([4]byte{198, 18, 1, byte(i)})
	}
	return list
}

func newRig(tb testing.TB, options Options) *rig {
	tb.Helper()
	return newRigAt(tb, XDP, options)
}

func newRigAt(tb testing.TB, mode Mode, options Options) *rig {
	tb.Helper()
	l := lab.New(tb, "bench")
	r := &rig{tb: tb, mode: mode}
	do := func(steps ...error) {
		tb.Helper()
		for _, err := range steps {
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
	var err error
	r.namespace, err = l.Namespace("gateway")
	do(err)
	peer, err := l.Namespace("peer")
	r.peer = peer
	do(err, l.Veth(r.namespace, "eth0", peer, "eth0"), l.Veth(r.namespace, "eth1", peer, "eth1"))
	do(r.namespace.Address("eth0", "198.18.0.1/24"), r.namespace.Address("eth1", "10.0.0.1/16"))
	do(r.namespace.Up("eth0"), r.namespace.Up("eth1"), peer.Up("eth0"), peer.Up("eth1"), r.namespace.WaitUp())
	do(r.namespace.Route("default", rigRouter.String()), r.namespace.Route("10.128.0.0/9", rigHost.String()))
	options.Public, options.Private = []string{"eth0"}, []string{"eth1"}
	do(r.namespace.Do(func() error { return r.open(options) }))
	tb.Cleanup(func() {
		_ = r.generator.Close()
		_ = r.namespace.Do(func() error { return r.data.Close(false) })
	})
	return r
}

func (r *rig) open(options Options) error {
	var err error
	if r.public, err = neighbourOn("eth0", rigRouter, packets.RouterMAC); err != nil {
		return err
	}
	if r.private, err = neighbourOn("eth1", rigHost, packets.HostMAC); err != nil {
		return err
	}
	if r.data, err = Open(options); err != nil {
		return err
	}
	if err = r.data.SetAddresses([]netip.Addr{rigPool}, nil); err != nil {
		return err
	}
	services := make([]Service, rigPorts)
	for i := range services {
		services[i] = Service{Host: rigHost, Port: uint16(1 + i), Protocol: model.UDP}
	}
	if _, err = r.data.SetPolicy(rigSettings, services, nil); err != nil {
		return err
	}
	if err = r.data.Attach(); err != nil {
		return err
	}
	spec, err := map[Mode]func() (*ebpf.CollectionSpec, error){XDP: loadBenchmark, TCX: loadBenchmarkTCX}[r.mode]()
	if err != nil {
		return err
	}
	spec.Maps["benchmark_tuples"].MaxEntries = uint32(4 * max(options.Capacity, mixedPairs))
	return spec.LoadAndAssign(&r.generator, nil)
}

// program is the one that is measured.
func (r *rig) program(public bool) *ebpf.Program {
	program, err := r.data.Entry(r.mode, public, false)
	if err != nil {
		r.tb.Fatal(err)
	}
	return program
}

func neighbourOn(name string, ip netip.Addr, mac packets.MAC) (ifindex int, err error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return 0, err
	}
	return link.Attrs().Index, netlink.NeighSet(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, IP: net.IP(ip.AsSlice()), HardwareAddr: net.HardwareAddr(mac[:]), State: netlink.NUD_PERMANENT,
	})
}

// tuple is what the generator makes a frame of.
type tuple = benchmarkBenchmarkTuple

// flow returns the outbound tuple number i. Each has a private endpoint and a
// remote address of its own, so that its session needs a mapping and a filter
// entry: the worst case. The endpoints of a host are spread over its ports.
func flow(i int, protocol model.Protocol) tuple {
	host, port := i%65536, 1024+(i/65536)*61
	remote := uint32(i)*2654435761>>8 | 64<<24 // 64.0.0.0/8, every i < 2^24 its own
	return tuple{
		Source:      networkOrder(netip.AddrFrom4([4]byte{10, 128 + byte(host>>16), byte(host >> 8), byte(host)})),
		Destination: networkOrder(netip.AddrFrom4([4]byte{64, byte(remote >> 16), byte(remote >> 8), byte(remote)})),
		SourcePort:  swap(uint16(port + host%61)), DestinationPort: swap(443),
		Protocol: uint8(protocol), Flags: uint8(packets.SYN),
	}
}

// flows returns the tuples first to last-1 in random order.
func flows(first, last int, protocol model.Protocol) []tuple {
	list := make([]tuple, 0, last-first)
	for i := first; i < last; i++ {
		list = append(list, flow(i, protocol))
	}
	return shuffled(list)
}

func shuffled(list []tuple) []tuple {
	random := rand.New(rand.NewPCG(1, uint64(len(list))))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// outgoing and replies return the tuples of both directions of all open
// sessions, in an order that has nothing to do with that of their records.
func (r *rig) outgoing() []tuple {
	return r.tuplesOf(func(s Session) (from, to netip.AddrPort) { return s.Private, s.Remote })
}

func (r *rig) replies() []tuple {
	return r.tuplesOf(func(s Session) (from, to netip.AddrPort) { return s.Remote, s.External })
}

func (r *rig) tuplesOf(ends func(Session) (from, to netip.AddrPort)) []tuple {
	r.tb.Helper()
	var list []tuple
	err := r.data.Sessions(func(s Session) {
		from, to := ends(s)
		list = append(list, tuple{
			Source: networkOrder(from.Addr()), SourcePort: swap(from.Port()),
			Destination: networkOrder(to.Addr()), DestinationPort: swap(to.Port()),
			Protocol: uint8(s.Protocol), Flags: uint8(packets.ACK),
		})
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	return shuffled(list)
}

// aim tells the generator which tuples to send, from the first on.
func (r *rig) aim(tuples []tuple) {
	r.tb.Helper()
	memory, err := r.generator.BenchmarkTuples.Memory()
	if err == nil {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&tuples[0])), len(tuples)*sizeOf(tuple{}))
		_, err = memory.WriteAt(raw, 0)
	}
	if err != nil {
		r.tb.Fatal(err)
	}
	r.first, r.tuples = 0, len(tuples)
	r.seek(0)
}

// narrow lets the generator go round a part of what it was aimed at, from a position in that part on.
func (r *rig) narrow(first, tuples, position int) {
	r.tb.Helper()
	r.first, r.tuples = first, tuples
	r.seek(position)
}

// seek lets the generator go on with tuple number position, counted round.
func (r *rig) seek(position int) {
	r.tb.Helper()
	state := benchmarkBenchmarkState{
		Next: uint32(r.first + position%r.tuples), End: uint32(r.first + r.tuples), First: uint32(r.first), Row: uint32(r.row),
	}
	if err := r.generator.BenchmarkStates.Put(uint32(0), &state); err != nil {
		r.tb.Fatal(err)
	}
}

// testRun is the part of union bpf_attr that BPF_PROG_TEST_RUN takes. The
// library does not tell the time of a run with a context.
type testRun struct {
	program, result          uint32
	sizeIn, sizeOut          uint32
	dataIn, dataOut          uint64
	repeat, duration         uint32
	contextIn, contextOut    uint32
	contextInAt, contextOut8 uint64
	flags, cpu, batch, _     uint32
}

const bpfProgTestRun = 10

const xdpDrop = 1 // linux/bpf.h

// atTCX is what says the same there (enum tcx_action_base).
var atTCX = map[uint32]uint32{xdpDrop: 2, xdpPass: math.MaxUint32, xdpRedirect: 7}

// run sends count frames into program and returns the mean time of one in
// nanoseconds, generator included, as the kernel measures it.
func (r *rig) run(program *ebpf.Program, public bool, count int, want uint32) float64 {
	r.tb.Helper()
	ifindex := r.private
	if public {
		ifindex = r.public
	}
	frame := make([]byte, 64)
	var context any = XDPMd{DataEnd: uint32(len(frame)), IngressIfindex: uint32(ifindex)}
	if r.mode == TCX {
		context = SKBuff{Ifindex: uint32(ifindex)}
	}
	raw := make([]byte, binary.Size(context))
	_, err := binary.Encode(raw, binary.NativeEndian, context)
	if err == nil {
		err = r.generator.BenchmarkPrograms.Put(uint32(0), program)
	}
	if err != nil {
		r.tb.Fatal(err)
	}
	attr := testRun{
		program: uint32(r.generator.BenchmarkNext.FD()), sizeIn: uint32(len(frame)), repeat: uint32(count),
		dataIn: uint64(uintptr(unsafe.Pointer(&frame[0]))), contextIn: uint32(len(raw)),
		contextInAt: uint64(uintptr(unsafe.Pointer(&raw[0]))),
	}
	err = r.namespace.Do(func() error {
		for {
			_, _, errno := unix.Syscall(unix.SYS_BPF, bpfProgTestRun, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
			switch errno {
			case 0:
				return nil
			case unix.EINTR: // a signal of Go's scheduler
			default:
				return errno
			}
		}
	})
	if err != nil {
		r.tb.Fatalf("run %d frames: %v", count, err)
	}
	if r.mode == TCX {
		want = atTCX[want]
	}
	if attr.result != want {
		counters, _ := r.data.Counters()
		for reason, n := range counters {
			if n != 0 {
				r.tb.Logf("%s: %d", reason, n)
			}
		}
		r.tb.Fatalf("the last frame of %d ended with %d, want %d", count, attr.result, want)
	}
	return float64(attr.duration)
}
