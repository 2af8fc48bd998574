package e2e

import (
	"net/netip"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Offsets in a frame of UDP over IPv4 without options.
const (
	ipIdentification = 14 + 4
	ipSource         = 14 + 12
	udpPort          = 14 + 20
	udpPayload       = udpPort + 8
)

// flood sends frames of UDP over IPv4 as live frames, each time as if somebody else had sent it: the lower half of the
// source, the source port, and the first two octets of the payload, which are a DNS message's identification, are random.
type flood struct {
	frames   [][]byte
	programs []*ebpf.Program
}

// newFlood loads a program for each of a few packets, of at least two octets of payload. They are sent by the interface
// with that number, in the namespace of who calls send. UDP's sum is left out (RFC 768).
func newFlood(t *testing.T, ifindex int, all []packets.Packet) *flood {
	t.Helper()
	f := &flood{}
	for _, p := range all {
		frame := p.Change(func(p *packets.Packet) {
			source := p.IPv4.Source.As4()
			p.IPv4.Source, p.IPv4.ID = netip.AddrFrom4([4]byte{source[0], source[1]}), 0xffff
			p.UDP.Checksum = packets.ChecksumZero
		}).Bytes()
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "flood", Type: ebpf.XDP, License: "GPL", Instructions: anybody(ifindex, frame)})
		if err != nil {
			t.Fatalf("load the program of a flood: %v", err)
		}
		t.Cleanup(func() { _ = program.Close() })
		f.frames, f.programs = append(f.frames, frame), append(f.programs, program)
	}
	return f
}

// anybody writes the frame anew, as a live frame comes back with what the device has made of it. IP's identification is
// what the half of the source lacks, so that IP's sum stays right.
func anybody(ifindex int, frame []byte) asm.Instructions {
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
	return append(code,
		asm.FnGetPrandomU32.Call(),
		asm.StoreMem(asm.R6, ipSource+2, asm.R0, asm.Half),
		asm.Xor.Imm(asm.R0, 0xffff),
		asm.StoreMem(asm.R6, ipIdentification, asm.R0, asm.Half),
		asm.FnGetPrandomU32.Call(),
		asm.StoreMem(asm.R6, udpPayload, asm.R0, asm.Half),
		asm.RSh.Imm(asm.R0, 16),
		asm.Or.Imm(asm.R0, 4), // in network byte order: 1,024 and more
		asm.StoreMem(asm.R6, udpPort, asm.R0, asm.Half),
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
