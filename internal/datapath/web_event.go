package datapath

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// WebEventKind is what a WebEvent tells (bpf/handshake/types.h).
type WebEventKind uint16

// The kinds.
const (
	WebFirst    = WebEventKind(bpfWebEventKindWEB_FIRST)    // a frame: the first data of a connection whose client has proved its address
	WebLater    = WebEventKind(bpfWebEventKindWEB_LATER)    // a frame: other data of one that is no session yet, which may be anybody's
	WebOpened   = WebEventKind(bpfWebEventKindWEB_OPENED)   // its host has answered, and it is a session
	WebRefused  = WebEventKind(bpfWebEventKindWEB_REFUSED)  // it is none, for Reason
	WebWeak     = WebEventKind(bpfWebEventKindWEB_WEAK)     // it is none, as its host can no more than Can
	WebDatagram = WebEventKind(bpfWebEventKindWEB_DATAGRAM) // a frame: an Initial of QUIC without a session, which may be anybody's
	WebAnew     = WebEventKind(bpfWebEventKindWEB_ANEW)     // the same by the ports of a session, of its connection or another one
)

// WebEvent is what the daemon hears of a connection to a web address. Events can be lost when the reader is too slow: whoever
// sent a frame sends it again.
type WebEvent struct {
	At        model.Instant
	Kind      WebEventKind
	Flow      model.Tuple // outside
	Interface int         // that the frame came in by
	Frame     []byte      // with its link header; the reader's own
	Each      int         // the frame is several datagrams or segments, each but the last with so many octets; 0: it is one
	Begun     uint32      // the client's first number, of what tells how a connection ended
	Reason    model.Reason
	Can       WebPromise
}

// WebEvents opens the stream of connections to web addresses.
func (d *webTable) WebEvents() (*Events[WebEvent], error) {
	return newEvents(d.objects.WebEvents, func(raw []byte) (WebEvent, error) {
		var e bpfWebEvent
		n, err := binary.Decode(raw, binary.NativeEndian, &e)
		if err != nil {
			return WebEvent{}, err
		}
		if int(e.Length) > len(raw)-n {
			return WebEvent{}, fmt.Errorf("a frame of %d octets in an event of %d", e.Length, len(raw))
		}
		return WebEvent{
			At: model.Instant(e.At), Kind: WebEventKind(e.Kind), Interface: int(e.Ifindex),
			Frame:  slices.Clone(raw[n : n+int(e.Length)]),
			Reason: model.Reason(d.reasons[int(e.Reason)%len(d.reasons)]), Can: promiseOf(e.Mss, uint32(e.Promises)),
			Each: int(e.Each), Begun: e.Begun,
			Flow: model.Tuple{
				Protocol:    model.Protocol(e.Key.Protocol),
				Source:      netip.AddrPortFrom(addressOf(e.Key.Remote), swap(e.Key.RemotePort)),
				Destination: netip.AddrPortFrom(addressOf(e.Key.Address), swap(e.Key.Port)),
			},
		}, nil
	})
}

func (d *core) reasonNumber(reason model.Reason) uint16 {
	return uint16(max(0, slices.Index(d.reasons, string(reason))))
}
