package trafficgen

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Null is the null device: it forwards between two ports by XDP and does nothing
// else, so that what a tester costs by itself can be subtracted.
type Null struct {
	objects struct {
		Out   *ebpf.Program `ebpf:"null_out"`
		In    *ebpf.Program `ebpf:"null_in"`
		MACs  *ebpf.Map     `ebpf:"null_macs"`
		Ports *ebpf.Map     `ebpf:"null_ports"`
	}
	links []link.Link
}

// NewNull attaches a null device to two interfaces. In them Device is the
// address of the tester's interface. It must be called inside their namespace.
func NewNull(private, public Port) (*Null, error) {
	spec, err := loadBpf()
	if err != nil {
		return nil, fmt.Errorf("read the null device's programs: %w", err)
	}
	n := &Null{}
	if err := spec.LoadAndAssign(&n.objects, nil); err != nil {
		return nil, fmt.Errorf("load the null device: %w", err)
	}
	for _, end := range []struct {
		side Side
		port Port
		from *ebpf.Program
	}{{Initiator, private, n.objects.Out}, {Responder, public, n.objects.In}} {
		attached, err := attach(end.from, end.port)
		if err != nil {
			return nil, errors.Join(err, n.Close())
		}
		n.links = append(n.links, attached)
		err = errors.Join(n.objects.Ports.Put(uint32(end.side), uint32(end.port.Index)),
			n.objects.MACs.Put(uint32(end.side), bpfNullPort{Mac: header(end.port.Device, end.port.MAC)}))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("send by %s: %w", end.port.Name, err), n.Close())
		}
	}
	return n, nil
}

// Close detaches the device.
func (n *Null) Close() error {
	var failed error
	for _, attached := range n.links {
		failed = errors.Join(failed, attached.Close())
	}
	o := n.objects
	return errors.Join(failed, o.Out.Close(), o.In.Close(), o.MACs.Close(), o.Ports.Close())
}
