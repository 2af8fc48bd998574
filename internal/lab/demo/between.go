package demo

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/client"
)

// Where the parts of a frame are, in octets. None has IP options but what is inside of the tunnel, which is not read so far.
const (
	ethernetHeader = 14
	ipHeader       = 20
	udpHeader      = 8
	geneveHeader   = 8 // without options (RFC 8926 section 3.4)
	linkPort       = 48001
	tunnelPort     = 6081
	protocolTCP    = 6
	protocolUDP    = 17
)

// traffic is what went between two edges.
type traffic struct {
	frames, link, tunnel, probes, other int
	pairs                               map[[2]netip.Addr]int // of addresses inside of the tunnel, packets of each
}

// add counts a frame. What is no IPv4 is another.
func (t *traffic) add(frame []byte) {
	t.frames++
	if len(frame) < ethernetHeader+ipHeader+udpHeader || binary.BigEndian.Uint16(frame[12:]) != 0x0800 {
		t.other++
		return
	}
	packet := frame[ethernetHeader:]
	transport := packet[min(int(packet[0]&0xf)*4, len(packet)-udpHeader):]
	from, to := binary.BigEndian.Uint16(transport), binary.BigEndian.Uint16(transport[2:])
	switch {
	case packet[9] == protocolTCP && (from == linkPort || to == linkPort):
		t.link++
	case packet[9] == protocolUDP && to == tunnelPort:
		t.inside(transport[udpHeader:])
	default:
		t.other++
	}
}

// inside counts what is in a packet of the tunnel (RFC 8926 section 3.4).
func (t *traffic) inside(geneve []byte) {
	if len(geneve) < geneveHeader {
		t.other++
		return
	}
	inner := geneve[min(geneveHeader+int(geneve[0]&0x3f)*4, len(geneve)):]
	switch {
	case geneve[1]&0x80 != 0: // of the edges themselves: it measures the path
		t.probes++
	case len(inner) < ipHeader:
		t.other++
	default:
		t.tunnel++
		t.pairs[[2]netip.Addr{netip.AddrFrom4([4]byte(inner[12:16])), netip.AddrFrom4([4]byte(inner[16:20]))}]++
	}
}

// Step 4: all frames that the edges sent, with all their octets.
func (s *twoSites) seen(ctx context.Context) error {
	frames, err := s.capture.all()
	if err != nil {
		return fmt.Errorf("capture between the edges: %w", err)
	}
	t := traffic{pairs: map[[2]netip.Addr]int{}}
	for _, frame := range frames {
		t.add(frame)
	}
	s.tell.say("%d frames went from edge to edge: %d of the link between them, by TLS,", t.frames, t.link)
	s.tell.note(fmt.Sprintf("%d of the two connections, in a tunnel (GENEVE, UDP %d), %d to", t.tunnel, tunnelPort, t.probes),
		fmt.Sprintf("measure the path, and %d others, such as ARP.", t.other))
	tags, err := tagsOf(t.pairs)
	if err != nil {
		return err
	}
	if err := s.told(ctx, tags); err != nil {
		return err
	}
	s.tell.say("There %s stands for hosta, and %s for hostb: tags.", s.a.tag, s.b.tag)
	s.tell.note("Both edges list them (realmgate pacts). They drew them for these two",
		"names, and believe a packet with them only by its authenticator.")
	if err := leaked(frames, s.private()); err != nil {
		return err
	}
	s.tell.say("In no octet of any frame is a private address, as number or as text:")
	s.tell.note(fmt.Sprintf("not %s of the hosts, not %s of the edges, nor the", s.a.host.IP, s.a.gateway.PrivateAddress),
		fmt.Sprintf("proxy addresses %s and %s.", s.a.proxy, s.b.proxy))
	s.tell.see("frames", t.frames)
	s.tell.see("link_frames", t.link)
	s.tell.see("tunnel_frames", t.tunnel)
	s.tell.see("tag_a", s.a.tag)
	s.tell.see("tag_b", s.b.tag)
	s.tell.see("private_addresses", 0)
	return nil
}

// told has each edge tell its tag, and wants these to be those that were seen.
func (s *twoSites) told(ctx context.Context, seen [2]netip.Addr) error {
	for _, e := range []struct {
		*edge
		*daemon
	}{{&s.a, s.gateway}, {&s.b, s.second}} {
		var pacts []client.Pact
		if err := e.client.Listing(ctx, client.Pacts(), client.Filter{}, &pacts); err != nil {
			return fmt.Errorf("list the pacts of edge %s: %w", e.letter, err)
		}
		if len(pacts) != 1 || pacts[0].Proxy != e.proxy {
			return mismatch{"the pacts of edge " + e.letter, "one, with " + e.proxy.String(), fmt.Sprintf("%+v", pacts)}
		}
		e.tag = pacts[0].Tag
	}
	if s.a.tag == tagText(seen[1]) {
		seen[0], seen[1] = seen[1], seen[0]
	}
	return expect("the tags in the tunnel", [2]string{tagText(seen[0]), tagText(seen[1])}, [2]string{s.a.tag, s.b.tag})
}

// private are the addresses that are to stay inside, and what they are.
func (s *twoSites) private() map[string]netip.Addr {
	return map[string]netip.Addr{
		"of hosta and of hostb":             s.a.host.IP,
		"of the edges inside":               s.a.gateway.PrivateAddress,
		"which stands for " + s.b.host.name: s.a.proxy,
		"which stands for " + s.a.host.name: s.b.proxy,
	}
}

// leaked wants none of some addresses in a frame, neither as number nor as text.
func leaked(frames [][]byte, private map[string]netip.Addr) error {
	for _, frame := range frames {
		for what, address := range private {
			if bytes.Contains(frame, address.AsSlice()) || bytes.Contains(frame, []byte(address.String())) {
				return mismatch{"a frame between the edges", "no private address", fmt.Sprintf("%s, %s, in % x", address, what, frame)}
			}
		}
	}
	return nil
}

// tagsOf wants packets between two addresses alone, both ways.
func tagsOf(pairs map[[2]netip.Addr]int) (tags [2]netip.Addr, err error) {
	var list []string
	for p, n := range pairs {
		if slices.MaxFunc(p[:], netip.Addr.Compare) == p[1] {
			tags = p
		}
		list = append(list, fmt.Sprintf("%d from %s to %s", n, tagText(p[0]), tagText(p[1])))
	}
	slices.Sort(list)
	if len(pairs) != 2 || pairs[tags] == 0 || pairs[[2]netip.Addr{tags[1], tags[0]}] == 0 {
		return tags, mismatch{"packets in the tunnel", "some between two tags, both ways", strings.Join(list, ", ")}
	}
	return tags, nil
}

// tagText writes a tag as edges do.
func tagText(tag netip.Addr) string { return fmt.Sprintf("0x%08x", tag.As4()) }
