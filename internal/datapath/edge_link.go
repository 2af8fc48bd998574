package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// EdgeLink is another edge, as packets know it.
type EdgeLink struct {
	Number        uint32     // 1 to Options.Links; the low 12 bits of Here
	Here, There   uint32     // VNIs, of 24 bits: what the other edge writes, and what we write
	Local, Remote netip.Addr // locators
	MTU           uint16     // the most that an inner packet may have, octets
	Banned        bool
	Heard         model.Instant // of the last good packet, a tick late at most; zero: none yet. Read back alone
}

// Octets of the header in front of an inner packet.
const (
	headerUDP    = 20
	headerGENEVE = headerUDP + 8
	headerOption = headerGENEVE + 8
)

// header is what all packets of the link have in front (RFC 791, RFC 768, RFC 8926). The programs fill in TOS, lengths, source
// port, epoch and authenticator; IP's checksum is that of a header whose length and TOS are 0.
func (l *EdgeLink) header() (h [edgeHeader]uint8) {
	h[0], h[6], h[8], h[9] = 0x45, 0x40, 64, uint8(model.UDP) // no fragments
	local, remote := l.Local.As4(), l.Remote.As4()
	copy(h[12:], local[:])
	copy(h[16:], remote[:])
	binary.BigEndian.PutUint16(h[10:], ^onesSum(h[:headerUDP]))
	binary.BigEndian.PutUint16(h[headerUDP+2:], genevePort)
	h[headerGENEVE], h[headerGENEVE+1] = 3, 0x40 // three words of options; a critical one is among them
	binary.BigEndian.PutUint16(h[headerGENEVE+2:], 0x0800)
	binary.BigEndian.PutUint32(h[headerGENEVE+4:], l.There<<8)
	binary.BigEndian.PutUint16(h[headerOption:], optionClass)
	h[headerOption+2], h[headerOption+3] = 0x80, 2 // critical, of epoch 0; two words
	return h
}

const (
	genevePort  = 6081
	optionClass = 0xff52 // experimental: RFC 8926 section 7
)

// onesSum is the ones' complement sum of big-endian words (RFC 1071).
func onesSum(octets []uint8) uint16 {
	sum := uint32(0)
	for i := 0; i < len(octets); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(octets[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// PutEdgeLink makes a link, or gives the one of the same VNI another state, MTU or way, and leaves it its keys. One with a new
// VNI has no keys: nothing goes or comes by it until PutEdgeKey.
func (d *edgeTable) PutEdgeLink(l EdgeLink) error {
	if !l.Local.Is4() || !l.Remote.Is4() || (l.Here|l.There)>>24 != 0 || l.There == 0 {
		return fmt.Errorf("a link from %s, VNI %#x, to %s, VNI %#x", l.Local, l.Here, l.Remote, l.There)
	}
	r := bpfLinkRequest{Number: l.Number}
	r.Link = bpfLink{
		VniHere: l.Here, Local: networkOrder(l.Local), Remote: networkOrder(l.Remote), Mtu: l.MTU,
		State: uint8(bpfLinkStateLINK_UP), Header: l.header(),
	}
	if l.Banned {
		r.Link.State = uint8(bpfLinkStateLINK_BANNED)
	}
	return d.edgeRun(d.objects.PutLink, &r, &r.Error, fmt.Sprintf("put the link with %s", l.Remote))
}

// PutEdgeKey gives a link a key: out, to send with from now on, else to receive with beside the one of the epoch before. An
// epoch has 7 bits. ErrSpent: there is no such link.
func (d *edgeTable) PutEdgeKey(number uint32, out bool, epoch uint8, key [16]byte) error {
	var link bpfLink
	if err := d.objects.LinkTable.Lookup(number, &link); err != nil {
		return fmt.Errorf("read link %d: %w", number, err)
	}
	r := bpfLinkRequest{Number: number, Epoch: epoch}
	r.Link.VniHere = link.VniHere
	for i := range r.Key {
		r.Key[i] = binary.LittleEndian.Uint64(key[8*i:])
	}
	if out {
		r.Out = 1
	}
	return d.edgeRun(d.objects.PutLinkKey, &r, &r.Error, fmt.Sprintf("put the key of epoch %d of link %d", epoch, number))
}

// EndEdgeLink ends a link, and forgets its keys: packets of its pacts go nowhere. When it returns none passes. ErrSpent: there
// is no such link.
func (d *edgeTable) EndEdgeLink(number uint32) error {
	var link bpfLink
	if err := d.objects.LinkTable.Lookup(number, &link); err != nil {
		return fmt.Errorf("read link %d: %w", number, err)
	}
	if link.VniHere == 0 {
		return fmt.Errorf("end link %d: %w", number, ErrSpent)
	}
	r := bpfLinkRequest{Number: number}
	r.Link.VniHere = link.VniHere
	if err := d.edgeRun(d.objects.EndLink, &r, &r.Error, fmt.Sprintf("end link %d", number)); err != nil {
		return err
	}
	if err := d.grace(); err != nil {
		return err
	}
	r.Link.VniHere = 0 // its keys, which nobody uses any more
	err := d.edgeRun(d.objects.EndLink, &r, &r.Error, fmt.Sprintf("forget the keys of link %d", number))
	if errors.Is(err, ErrSpent) {
		return nil // another has its number already
	}
	return err
}

// EdgeLinks calls visit for the links that there are, in the order of their numbers, until it returns false.
func (d *edgeTable) EdgeLinks(visit func(EdgeLink) bool) error {
	return forFrom(d.objects.LinkTable, 1, func(number uint32, r *bpfLink) bool {
		if r.VniHere == 0 {
			return true
		}
		return visit(EdgeLink{
			Number: number, Here: r.VniHere, There: binary.BigEndian.Uint32(r.Header[headerGENEVE+4:]) >> 8,
			Local: addressOf(r.Local), Remote: addressOf(r.Remote), MTU: r.Mtu,
			Banned: r.State == uint8(bpfLinkStateLINK_BANNED), Heard: usedAt(r.Heard),
		})
	})
}
