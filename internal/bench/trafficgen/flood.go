package trafficgen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Offsets in a frame of UDP over IPv4 without options.
const (
	ipIdentification = 14 + 4
	ipSource         = 14 + 12
	udpPort          = 14 + 20
	udpSum           = udpPort + 6
	udpPayload       = udpPort + 8
)

// Flood sends frames of UDP over IPv4 as live frames, each time as if somebody else had sent it: the lower half of the
// source, the source port, and the first two octets of the payload, which are a DNS message's identification, are random.
type Flood struct {
	frames   [][]byte
	programs []*ebpf.Program
}

// NewFlood loads a program for each of at most a few frames, of at least two octets of payload. They are sent by the
// interface with that number, in the namespace of who calls Send.
func NewFlood(ifindex int, frames [][]byte) (*Flood, error) {
	f := &Flood{}
	for _, frame := range frames {
		if len(frame) < udpPayload+2 {
			return nil, errors.Join(fmt.Errorf("a frame of %d octets is no UDP with a payload", len(frame)), f.Close())
		}
		frame = anonymous(frame)
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "flood", Type: ebpf.XDP, License: "GPL", Instructions: anybody(ifindex, frame)})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("load the program of a flood: %w", err), f.Close())
		}
		f.frames, f.programs = append(f.frames, frame), append(f.programs, program)
	}
	return f, nil
}

// anonymous is the frame without UDP's sum (RFC 768), and with an IP identification that a source ending in 0.0 lacks.
func anonymous(frame []byte) []byte {
	frame = append([]byte(nil), frame...)
	binary.BigEndian.PutUint16(frame[ipSource+2:], 0)
	binary.BigEndian.PutUint16(frame[ipIdentification:], 0xffff)
	binary.BigEndian.PutUint16(frame[udpSum:], 0)
	header := frame[14:34]
	header[10], header[11] = 0, 0
	sum := uint32(0)
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(header[10:], ^uint16(sum)) //nolint:gosec // folded
	return frame
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

// Send sends each frame so many times, until more returns false, on one CPU. It returns how many it has sent.
func (f *Flood) Send(cpu int, each uint32, more func(sent int64) bool) (sent int64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	release, err := occupy(cpu, false)
	if err != nil {
		return 0, err
	}
	defer release()
	for i := 0; more(sent); i = (i + 1) % len(f.frames) {
		switch err := runLive(f.programs[i].FD(), f.frames[i], each, pacedBatch*4); {
		case errors.Is(err, unix.EINTR): // some of them
			continue
		case err != nil:
			return sent, fmt.Errorf("send a flood: %w", err)
		}
		sent += int64(each)
	}
	return sent, nil
}

// Close unloads the programs.
func (f *Flood) Close() error {
	var failed error
	for _, program := range f.programs {
		failed = errors.Join(failed, program.Close())
	}
	return failed
}
