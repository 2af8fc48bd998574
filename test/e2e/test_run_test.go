package e2e

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// trial is packets, one after the other, for the program at an interface of a gateway. The kernel's test run writes each and has
// the program judge it, and times that: without links, and without what else the machine does meanwhile.
type trial struct {
	r         *realm
	ifindex   int
	frame     []byte
	packets   int
	next      *ebpf.Map // which of them is, by the only key
	generator *ebpf.Program
}

// trialPacket is what packets differ by.
type trialPacket struct {
	Source, Destination         [4]byte
	SourcePort, DestinationPort uint16 // network byte order
	Identification, Sequence    uint16 // keep the sums right
}

// trial loads as many packets as from tells of, all of which are one but for their endpoints. For XDP alone.
func (r *realm) trial(name string, one packets.Packet, count int, from func(i int) (source, destination netip.AddrPort)) *trial {
	r.t.Helper()
	made := &trial{r: r, packets: count}
	table, err := ebpf.NewMap(&ebpf.MapSpec{Name: "trial_packets", Type: ebpf.Array, KeySize: 4, ValueSize: uint32(binary.Size(trialPacket{})), MaxEntries: uint32(count)}) //nolint:gosec // a few
	r.must(err)
	r.t.Cleanup(func() { _ = table.Close() })
	keys, values := make([]uint32, count), make([]trialPacket, count)
	for i := range values {
		source, destination := from(i)
		keys[i], values[i] = uint32(i), trialPacket{Source: source.Addr().As4(), Destination: destination.Addr().As4(), SourcePort: swapped(source.Port()), DestinationPort: swapped(destination.Port())} //nolint:gosec // a few
		values[i].Identification = balance(values[i].Source, values[i].Destination)
		values[i].Sequence = balance(values[i].Source, values[i].Destination, values[i].SourcePort, values[i].DestinationPort)
	}
	_, err = table.BatchUpdate(keys, values, nil)
	r.must(err)
	made.next, err = ebpf.NewMap(&ebpf.MapSpec{Name: "trial_next", Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	r.must(err)
	r.t.Cleanup(func() { _ = made.next.Close() })
	programs, err := ebpf.NewMap(&ebpf.MapSpec{Name: "trial_programs", Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 1})
	r.must(err)
	r.t.Cleanup(func() { _ = programs.Close() })

	made.frame = one.Change(func(p *packets.Packet) {
		zero := netip.AddrFrom4([4]byte{})
		p.IPv4.Source, p.IPv4.Destination, p.IPv4.ID = zero, zero, 0xffff
		if p.TCP != nil {
			p.TCP.Source, p.TCP.Destination, p.TCP.Sequence = 0, 0, 0xffff
		} else {
			p.UDP.Source, p.UDP.Destination, p.UDP.Checksum = 0, 0, packets.ChecksumZero
		}
	}).Bytes()
	made.generator, err = ebpf.NewProgram(&ebpf.ProgramSpec{Name: "trial", Type: ebpf.XDP, AttachType: ebpf.AttachXDP, License: "GPL", Instructions: made.instructions(table, programs, one.TCP != nil, uint32(count))}) //nolint:gosec // a few
	r.must(err)
	r.t.Cleanup(func() { _ = made.generator.Close() })
	r.must(r.Gateway.Do(func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		made.ifindex = link.Attrs().Index
		program, err := ebpf.NewProgramFromID(ebpf.ProgramID(link.Attrs().Xdp.ProgId))
		if err != nil {
			return err
		}
		defer program.Close()
		return programs.Put(uint32(0), program)
	}))
	return made
}

// instructions write the frame anew, as it comes back with what the program has made of it, and enter the program.
func (m *trial) instructions(table, programs *ebpf.Map, tcp bool, count uint32) asm.Instructions {
	const failed = "failed"
	code := asm.Instructions{
		asm.Mov.Reg(asm.R9, asm.R1),
		asm.LoadMem(asm.R6, asm.R1, 0, asm.Word),
		asm.LoadMem(asm.R7, asm.R1, 4, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Add.Imm(asm.R1, int32(len(m.frame))), //nolint:gosec // an MTU
		asm.JGT.Reg(asm.R1, asm.R7, failed),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, m.next.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, failed),
		asm.LoadMem(asm.R1, asm.R0, 0, asm.Word),
		asm.StoreMem(asm.RFP, -4, asm.R1, asm.Word),
		asm.Add.Imm(asm.R1, 1),
		asm.JLT.Imm(asm.R1, int32(count), "more"), //nolint:gosec // a few
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.Word).WithSymbol("more"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, table.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, failed),
	}
	at := 0
	for ; at+4 <= len(m.frame); at += 4 {
		code = append(code, asm.StoreImm(asm.R6, int16(at), int64(int32(binary.NativeEndian.Uint32(m.frame[at:]))), asm.Word)) //nolint:gosec // an MTU
	}
	for ; at < len(m.frame); at++ {
		code = append(code, asm.StoreImm(asm.R6, int16(at), int64(m.frame[at]), asm.Byte)) //nolint:gosec // an MTU
	}
	move := func(from uintptr, to int, size asm.Size) {
		code = append(code, asm.LoadMem(asm.R1, asm.R0, int16(from), size), asm.StoreMem(asm.R6, int16(to), asm.R1, size)) //nolint:gosec // of a header
	}
	var p trialPacket
	move(unsafe.Offsetof(p.Source), ipSource, asm.Word)
	move(unsafe.Offsetof(p.Destination), ipSource+4, asm.Word)
	move(unsafe.Offsetof(p.Identification), ipIdentification, asm.Half)
	move(unsafe.Offsetof(p.SourcePort), sourcePort, asm.Word)
	if tcp {
		move(unsafe.Offsetof(p.Sequence), tcpSequence+2, asm.Half)
	}
	return append(code,
		asm.Mov.Reg(asm.R1, asm.R9),
		asm.LoadMapPtr(asm.R2, programs.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, 0).WithSymbol(failed),
		asm.Return())
}

const xdpRedirect = 4 // linux/bpf.h

// run is for how long the program took for each of the next count packets, in ns, in the mean, with what it takes to write them.
// The last of them has to be sent on. Where others take the CPU meanwhile, that does not count.
func (m *trial) run(count int) float64 {
	m.r.t.Helper()
	context, err := binary.Append(nil, binary.NativeEndian, datapath.XDPMd{DataEnd: uint32(len(m.frame)), IngressIfindex: uint32(m.ifindex)}) //nolint:gosec // they are small
	m.r.must(err)
	// The part of union bpf_attr that BPF_PROG_TEST_RUN takes: the library does not tell the time of a run with a context.
	attributes := struct {
		program, result        uint32
		sizeIn, sizeOut        uint32
		dataIn, dataOut        uint64
		repeat, duration       uint32
		contextIn, contextOut  uint32
		contextInAt, contextAt uint64
		flags, cpu, batch, _   uint32
	}{
		program: uint32(m.generator.FD()), sizeIn: uint32(len(m.frame)), dataIn: uint64(uintptr(unsafe.Pointer(&m.frame[0]))), repeat: uint32(count), //nolint:gosec // they are small
		contextIn: uint32(len(context)), contextInAt: uint64(uintptr(unsafe.Pointer(&context[0]))), //nolint:gosec // they are small
	}
	const testRun = 10 // BPF_PROG_TEST_RUN
	err = m.r.Gateway.Do(func() error {
		for {
			_, _, failed := unix.Syscall(unix.SYS_BPF, testRun, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes))
			if failed == 0 {
				return nil
			}
			if failed != unix.EINTR { // a signal of Go's scheduler
				return failed
			}
		}
	})
	runtime.KeepAlive(context)
	if err != nil || attributes.result != xdpRedirect {
		m.r.t.Fatalf("%d packets: the last ended with %d, %v", count, attributes.result, err)
	}
	return float64(attributes.duration)
}

// balance is what has ones' complement sums stay as they are with zeros in the place of all, and 0xffff in its own (RFC 1071).
func balance(source, destination [4]byte, ports ...uint16) uint16 {
	sum := uint32(0)
	for _, address := range [][4]byte{source, destination} {
		sum += uint32(binary.NativeEndian.Uint16(address[:])) + uint32(binary.NativeEndian.Uint16(address[2:]))
	}
	for _, port := range ports {
		sum += uint32(port)
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum) //nolint:gosec // folded
}

// swapped is a port as it stands in a packet.
func swapped(port uint16) uint16 { return port<<8 | port>>8 }
