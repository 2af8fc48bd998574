package e2e

import (
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Offsets in a frame of UDP or TCP over IPv4 without options.
const (
	ipIdentification = 14 + 4
	ipSource         = 14 + 12
	sourcePort       = 14 + 20
	udpPayload       = sourcePort + 8
	tcpSequence      = sourcePort + 4
	tcpAcknowledge   = sourcePort + 8
	tcpWindow        = sourcePort + 14
	tcpUrgent        = sourcePort + 18
)

// noise is two octets that are drawn for each frame, and where their complement stands, so that sums stay right.
type noise struct {
	at          int
	complements []int
}

// The noise of frames: whose they are, and what is to differ by that. A UDP datagram has no sum (RFC 768).
var (
	questionNoise = []noise{{ipSource + 2, []int{ipIdentification}}, {udpPayload, nil}, {sourcePort, nil}}
	tcpNoise      = []noise{
		{ipSource + 2, []int{ipIdentification, tcpSequence}}, {sourcePort, []int{tcpSequence + 2}},
		{tcpAcknowledge, []int{tcpWindow}}, {tcpAcknowledge + 2, []int{tcpUrgent}},
	}
)

// flood sends frames over IPv4 as live frames, each time as if somebody else had sent it: the lower half of the source,
// the source port and what else noise says are random.
type flood struct {
	frames   [][]byte
	programs []*ebpf.Program
}

// newFlood loads a program for each of a few packets. They are sent by the interface with that number, in the namespace of
// who calls send.
func newFlood(t *testing.T, ifindex int, all []packets.Packet) *flood {
	t.Helper()
	f := &flood{}
	for _, p := range all {
		random := questionNoise
		frame := p.Change(func(p *packets.Packet) {
			source := p.IPv4.Source.As4()
			p.IPv4.Source, p.IPv4.ID = netip.AddrFrom4([4]byte{source[0], source[1]}), 0xffff
			if p.TCP == nil {
				p.UDP.Checksum = packets.ChecksumZero
				return
			}
			random = tcpNoise
			p.TCP.Source, p.TCP.Sequence, p.TCP.Acknowledge, p.TCP.Window, p.TCP.Urgent = 0, 0xffffffff, 0, 0xffff, 0xffff
		}).Bytes()
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "flood", Type: ebpf.XDP, License: "GPL", Instructions: anybody(ifindex, frame, random)})
		if err != nil {
			t.Fatalf("load the program of a flood: %v", err)
		}
		t.Cleanup(func() { _ = program.Close() })
		f.frames, f.programs = append(f.frames, frame), append(f.programs, program)
	}
	return f
}

// anybody writes the frame anew, as a live frame comes back with what the device has made of it.
func anybody(ifindex int, frame []byte, random []noise) asm.Instructions {
	code := asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.Word),
		asm.LoadMem(asm.R7, asm.R1, 4, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Add.Imm(asm.R1, int32(len(frame))), //nolint:gosec // an MTU
		asm.JGT.Reg(asm.R1, asm.R7, "drop"),
	}
	for at, octet := range frame {
		code = append(code, asm.StoreImm(asm.R6, int16(at), int64(octet), asm.Byte)) //nolint:gosec // an MTU
	}
	for _, n := range random {
		code = append(code, asm.FnGetPrandomU32.Call())
		if n.at == sourcePort {
			code = append(code, asm.Or.Imm(asm.R0, 4)) // in network byte order: 1,024 and more
		}
		code = append(code, asm.StoreMem(asm.R6, int16(n.at), asm.R0, asm.Half), asm.Xor.Imm(asm.R0, 0xffff)) //nolint:gosec // of a header
		for _, at := range n.complements {
			code = append(code, asm.StoreMem(asm.R6, int16(at), asm.R0, asm.Half)) //nolint:gosec // of a header
		}
	}
	return append(code,
		asm.Mov.Imm(asm.R1, int32(ifindex)), //nolint:gosec // it is small
		asm.Mov.Imm(asm.R2, 0),
		asm.FnRedirect.Call(),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 1).WithSymbol("drop"),
		asm.Return())
}

// send sends each frame so many times, until more returns false, on one CPU; more is told how many were sent.
func (f *flood) send(cpu int, each uint32, more func(sent int64) bool) error {
	runtime.LockOSThread() // and the thread, which is bound to the CPU, ends with its caller
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return err
	}
	for i, sent := 0, int64(0); more(sent); i = (i + 1) % len(f.frames) {
		options := ebpf.RunOptions{Data: f.frames[i], Repeat: each, Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES}
		if _, err := f.programs[i].Run(&options); err != nil {
			return err
		}
		sent += int64(each)
	}
	return nil
}

// liveFlood sends packets from 203.0.0.0/8 as live frames straight to the gateway's public interface, so many a second,
// each of them a number of times in turn, until it is stopped; rate 0: as many as the last CPU alone can.
func (r *realm) liveFlood(rate, each int, all []packets.Packet) (sent *atomic.Int64, stop func()) {
	r.t.Helper()
	r.command("router", "ip", "route", "replace", "blackhole", "203.0.0.0/8")
	router, err := r.Router.MAC("public0")
	if err != nil {
		r.t.Fatal(err)
	}
	far, err := r.Router.Index("gateway-0")
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range all {
		all[i] = all[i].Between(packets.MAC(router), r.gatewayMAC(r.Gateway.Public[0]))
	}
	flood := newFlood(r.t, far, all)
	sent = new(atomic.Int64)
	var over atomic.Bool
	var running sync.WaitGroup
	running.Go(func() {
		began := time.Now()
		more := func(n int64) bool {
			sent.Store(n)
			if rate > 0 {
				time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
			}
			return !over.Load()
		}
		if err := r.Router.Do(func() error { return flood.send(runtime.NumCPU()-1, uint32(each), more) }); err != nil { //nolint:gosec // a few
			r.t.Errorf("the flood ended: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		over.Store(true)
		running.Wait()
	})
	r.t.Cleanup(stop)
	return sent, stop
}
