package trafficgen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
)

// Side is one of the tester's interfaces.
type Side int

// The initiator is in the private realm, the responder in the public one.
const (
	Initiator Side = iota
	Responder
)

// String returns the side's name.
func (s Side) String() string { return [...]string{"initiator", "responder"}[s] }

// Port is an interface of the tester, with the Ethernet address of the device
// at the other end.
type Port struct {
	Name   string
	Index  int
	MAC    net.HardwareAddr
	Device net.HardwareAddr
}

// Generator is a tester: a generator and two sinks.
type Generator struct {
	objects bpfObjects
	links   []link.Link
	flows   int
	macs    [2][3]uint32
	trial   uint16
}

// Load loads the programs. flows is the most that any plan will have, 1 to 2^31;
// each takes 8 bytes of memory.
func Load(flows int) (*Generator, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("lift the limit on locked memory: %w", err)
	}
	spec, err := loadBpf()
	if err != nil {
		return nil, fmt.Errorf("read the generator's programs: %w", err)
	}
	spec.Maps["trafficgen_states"].MaxEntries = uint32(flows)
	g := &Generator{flows: flows}
	if err := spec.LoadAndAssign(&g.objects, nil); err != nil {
		return nil, fmt.Errorf("load the generator: %w", err)
	}
	return g, nil
}

// Attach puts the sink of a side on the port and sends that side's frames by it.
// It must be called inside the port's network namespace.
func (g *Generator) Attach(side Side, port Port) error {
	program := g.objects.TrafficgenInitiator
	if side == Responder {
		program = g.objects.TrafficgenResponder
	}
	attached, err := attach(program, port)
	if err != nil {
		return err
	}
	g.links = append(g.links, attached)
	if err := g.objects.TrafficgenPorts.Put(uint32(side), uint32(port.Index)); err != nil {
		return fmt.Errorf("send by %s: %w", port.Name, err)
	}
	g.macs[side] = header(port.Device, port.MAC)
	return nil
}

// attach takes native mode only: redirected frames, which all of the tester's
// are, reach no other.
func attach(program *ebpf.Program, port Port) (link.Link, error) {
	attached, err := link.AttachXDP(link.XDPOptions{Program: program, Interface: port.Index, Flags: link.XDPDriverMode})
	if err != nil {
		return nil, fmt.Errorf("attach to %s in native XDP mode, which the tester needs: %w", port.Name, err)
	}
	return attached, nil
}

// header returns the first 12 octets of a frame as the generator writes them.
func header(destination, source net.HardwareAddr) (words [3]uint32) {
	octets := append(append([]byte(nil), destination...), source...)
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(octets[4*i:])
	}
	return words
}

// Close detaches everything and frees the maps.
func (g *Generator) Close() error {
	var failed error
	for _, attached := range g.links {
		failed = errors.Join(failed, attached.Close())
	}
	return errors.Join(failed, g.objects.Close())
}
