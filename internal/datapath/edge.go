package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/cilium/ebpf"
)

// Edges says where packets to and from other edges are met. The zero value is a gateway without edges.
type Edges struct {
	Proxy   netip.Prefix // of IPv4, 16 bits or more: addresses that stand for remote hosts
	Address netip.Addr   // an IPv4 address of the gateway, where the tunnel comes in
	Port    uint16       // of UDP
}

// edgesOf reads it back.
func edgesOf(c *bpfControl) Edges {
	if c.ProxySize == 0 {
		return Edges{}
	}
	first := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, c.ProxyFirst)))
	return Edges{Proxy: netip.PrefixFrom(first, 32-bits.TrailingZeros32(c.ProxySize)), Address: addressOf(c.EdgeAddress), Port: swap(c.EdgePort)}
}

// control is what the programs read of it.
func (e Edges) control() (proxyFirst, proxySize, address uint32, port uint16, err error) {
	if e == (Edges{}) {
		return 0, 0, 0, 0, nil
	}
	if !e.Proxy.IsValid() || !e.Proxy.Addr().Is4() || e.Proxy.Bits() < 16 {
		return 0, 0, 0, 0, fmt.Errorf("proxy addresses %s: use an IPv4 prefix of 16 bits or more", e.Proxy)
	}
	if !e.Address.Is4() || e.Address.IsUnspecified() || e.Port == 0 {
		return 0, 0, 0, 0, fmt.Errorf("a tunnel at %s, port %d: use an IPv4 address of the gateway, and a port", e.Address, e.Port)
	}
	return hostOrder(e.Proxy.Masked().Addr()), 1 << (32 - e.Proxy.Bits()), networkOrder(e.Address), swap(e.Port), nil
}

// Edges is where the data plane meets packets of edges.
func (d *edgeTable) Edges() (Edges, error) {
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return Edges{}, fmt.Errorf("read where edges are met: %w", err)
	}
	return edgesOf(&control), nil
}

// endOthers ends the sessions by proxy addresses, where those are others from now on: as proxy addresses of nobody, they would be
// hosts outside, to which packets go as they are.
func (d *edgeTable) endOthers(next Edges) error {
	was, err := d.Edges()
	if err != nil || was.Proxy == next.Proxy.Masked() || !was.Proxy.IsValid() {
		return err
	}
	_, err = (&sessionTable{d.core}).EndSessions(func(s Session) bool { return s.Origin == "edge_out" || s.Origin == "edge_in" })
	return err
}

// SetEdges has the data plane meet packets of edges from now on, or no more. Pacts by proxy addresses of another prefix are to have
// ended; what is left of their sessions ends.
func (d *edgeTable) SetEdges(e Edges) error {
	first, size, address, port, err := e.control()
	if err != nil {
		return err
	}
	if size > 0 {
		if err := d.join(); err != nil {
			return fmt.Errorf("load the programs of edges: %w", err)
		}
	}
	if err := d.endOthers(e); err != nil {
		return fmt.Errorf("end the sessions by proxy addresses that go: %w", err)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return fmt.Errorf("read where edges are met: %w", err)
	}
	if control.ProxyFirst != first {
		if err := d.clearProxies(); err != nil {
			return err
		}
	}
	control.ProxyFirst, control.ProxySize, control.EdgeAddress, control.EdgePort = first, size, address, port
	if err := d.objects.ControlTable.Put(uint32(0), &control); err != nil {
		return fmt.Errorf("say where edges are met: %w", err)
	}
	if size > 0 && len(d.ports) > 0 {
		d.followEdgeCarrier()
	}
	return d.grace()
}

// clearProxies has no proxy address stand for anybody.
func (d *edgeTable) clearProxies() error {
	for group := range uint32(MaxProxyAddresses / proxyGroup) {
		if err := d.objects.ProxyTable.Put(group, &bpfProxyPlaces{}); err != nil {
			return fmt.Errorf("clear the proxy addresses: %w", err)
		}
	}
	return nil
}

// readEdges learns after an adoption whether there are edges.
func (d *edgeTable) readEdges() error {
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return fmt.Errorf("read where edges are met: %w", err)
	}
	d.edges.Store(control.ProxySize > 0)
	return nil
}

// EdgeCount is what went by a link since it was made, and before it by those with its number. The first of each is out, the
// other in.
type EdgeCount struct {
	Packets, Octets [2]uint64 // inner packets
	Refused         uint64    // that came by its VNI, and were not let in
}

// EdgeCounts returns the counts of all links that there are, by number.
func (d *edgeTable) EdgeCounts() (map[uint32]EdgeCount, error) {
	counts := map[uint32]EdgeCount{}
	var failed error
	err := d.EdgeLinks(func(l EdgeLink) bool {
		var each []bpfLinkCount // of each CPU
		if failed = d.objects.LinkCounts.Lookup(l.Number, &each); failed != nil {
			failed = fmt.Errorf("read the counts of link %d: %w", l.Number, failed)
			return false
		}
		var sum EdgeCount
		for _, c := range each {
			for way := range c.Packets {
				sum.Packets[way] += c.Packets[way]
				sum.Octets[way] += c.Octets[way]
			}
			sum.Refused += c.Refused
		}
		counts[l.Number] = sum
		return true
	})
	return counts, errors.Join(err, failed)
}

// edgeRun runs one of the daemon's programs over pacts or links.
func (d *edgeTable) edgeRun(program *ebpf.Program, request any, failed *int32, what string) error {
	if err := d.run(program, request, failed); err != nil {
		return fmt.Errorf("%s in the data plane: %w", what, err)
	}
	return nil
}
