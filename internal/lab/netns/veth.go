package netns

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// Ends says which ends of a veth an option is for.
type Ends uint8

// The ends, in the order of Veth's arguments.
const (
	EndA Ends = 1 << iota
	EndB
	BothEnds = EndA | EndB
)

// veth is what the options of a Veth ask for.
type veth struct {
	gro, txChecksum, noNativeXDP Ends
	mtu, queues                  int
}

// VethOption changes how Veth makes a pair.
type VethOption func(*veth)

// GRO turns generic receive offload on (the default) or off. An end without it
// loses, in silence, every frame that an XDP program redirects to its peer,
// unless it has an XDP program itself.
func GRO(ends Ends, on bool) VethOption { return func(v *veth) { v.gro = set(v.gro, ends, on) } }

// TxChecksum lets an end hand over packets whose checksums are not computed, or
// not (the default). An XDP program on the other end sees such checksums.
func TxChecksum(ends Ends, on bool) VethOption {
	return func(v *veth) { v.txChecksum = set(v.txChecksum, ends, on) }
}

// NativeXDP says whether the kernel takes XDP programs on an end in native mode
// (the default); generic mode remains in any case.
func NativeXDP(ends Ends, on bool) VethOption {
	return func(v *veth) { v.noNativeXDP = set(v.noNativeXDP, ends, !on) }
}

// MTU sets the largest IP packet, in octets, of both ends; 1500 without it.
func MTU(octets int) VethOption { return func(v *veth) { v.mtu = octets } }

// Queues sets the number of receive and transmit queues of both ends; 1 without
// it. Frames redirected by different CPUs go to different queues.
func Queues(n int) VethOption { return func(v *veth) { v.queues = n } }

func set(all, ends Ends, on bool) Ends {
	if on {
		return all | ends
	}
	return all &^ ends
}

// Veth joins two namespaces, which may be one, with a pair of interfaces, down
// at first.
func (l *Lab) Veth(a *Namespace, aIf string, b *Namespace, bIf string, options ...VethOption) error {
	v := veth{gro: BothEnds, mtu: 1500, queues: 1}
	for _, option := range options {
		option(&v)
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = aIf, v.mtu
	attributes.NumTxQueues, attributes.NumRxQueues = v.transmitQueues(EndB), v.queues
	link := netlink.NewVeth(attributes)
	link.PeerName, link.PeerMTU = bIf, uint32(v.mtu)
	link.PeerNamespace = netlink.NsFd(b.file.Fd())
	link.PeerNumTxQueues, link.PeerNumRxQueues = uint32(v.transmitQueues(EndA)), uint32(v.queues)
	if err := a.Do(func() error { return netlink.LinkAdd(link) }); err != nil {
		return fmt.Errorf("join %s in %s and %s in %s: %w", aIf, a.name, bIf, b.name, err)
	}
	for _, end := range []struct {
		which     Ends
		namespace *Namespace
		ifname    string
	}{{EndA, a, aIf}, {EndB, b, bIf}} {
		err := end.namespace.setOffload(end.ifname, v.gro&end.which != 0, v.txChecksum&end.which != 0)
		if err != nil {
			return err
		}
	}
	return nil
}

// transmitQueues returns how many transmit queues the peer of end needs. The
// kernel refuses native XDP where an end has fewer receive queues than its peer
// has transmit queues.
func (v veth) transmitQueues(end Ends) int {
	if v.noNativeXDP&end != 0 {
		return v.queues + 1
	}
	return v.queues
}
