package datapath

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Session is one 5-tuple pair through the gateway.
type Session struct {
	Protocol model.Protocol `json:"protocol"`
	Private  netip.AddrPort `json:"private"`
	External netip.AddrPort `json:"external"`
	Remote   netip.AddrPort `json:"remote"`
	// State is "open" for all protocols but TCP, else a TCP state: syn, syn_both,
	// established, fin_out, fin_in, fin_both or rst.
	State string `json:"state"`
	// Origin is inside, mapping (let in by an outbound mapping), pool, dnat (sent on by a
	// chain), own (from inside, by an address that is the host's own), own_in (from outside, to
	// such an address), web (by the name that it asked for), cookie (from the pool, by a cookie), basic (from inside, of a protocol that is translated by address alone), edge_out (from inside, to a proxy address) or edge_in (from a proxy
	// address, by a pact with another edge). Of the last two External has the address 0.0.0.0.
	Origin     string `json:"origin"`
	Hairpin    bool   `json:"hairpin"`
	Generation uint32 `json:"generation"`
	Name       uint32 `json:"-"` // number of the service name it was asked by; 0: none
	// Binding is the ID of its binding, for a session from the pool. Tentative: its client has
	// proved nothing yet, or the host of a name has not answered.
	Binding   uint64        `json:"-"`
	Tentative bool          `json:"tentative,omitempty"`
	Age       time.Duration `json:"age"`
	Idle      time.Duration `json:"idle"` // since the last packet that refreshed it

	record  uint32
	version uint16 // of the record's use
}

var tcpStates = [...]string{"open", "syn", "syn_both", "established", "fin_out", "fin_in", "fin_both", "rst", "established"}

var origins = [...]string{"inside", "own", "basic", "edge_out", "mapping", "pool", "dnat", "own_in", "edge_in", "web", "cookie"}

// IsLent says whether the session is from the pool.
func (s Session) IsLent() bool { return s.Origin == "pool" || s.Origin == "cookie" }

// Number is the session's place in the table, 1 and up, for as long as it lives.
func (s Session) Number() uint32 { return s.record }

// Sessions calls visit for every session, closing ones included, in no order.
func (d *sessionTable) Sessions(visit func(Session)) error {
	return d.SessionsAfter(0, func(s Session) bool {
		visit(s)
		return true
	})
}

// SessionsAfter calls visit for the sessions with numbers above that one, in their order,
// until it returns false.
func (d *sessionTable) SessionsAfter(after uint32, visit func(Session) bool) error {
	tick := uint32(Now() >> tickShift)
	memory, err := d.objects.SessionTable.Memory()
	if err != nil {
		return fmt.Errorf("map the session table into memory: %w", err)
	}
	size := int64(sizeOf(bpfSession{}))
	again := make([]byte, size)
	bindings, err := d.slotBindings()
	if err != nil {
		return err
	}
	return forFrom(d.objects.SessionTable, int(after)+1, func(number uint32, s *bpfSession) bool {
		if bpfPhase(s.Life.As.Phase) != bpfPhasePHASE_LIVE {
			return true
		}
		// Seen by the copy and now: the same use of the record, so no tear.
		if _, err := memory.ReadAt(again, int64(number)*size); err != nil || !sameUse(s, again) {
			return true
		}
		session := sessionOf(s, tick)
		session.record = number
		session.fill(s, bindings)
		return visit(session)
	})
}

// fill says what a session holds by its origin.
func (s *Session) fill(record *bpfSession, bindings []boundTo) {
	origin, slot := bpfOrigin(record.Origin), record.Holds.Pool.Binding
	switch origin {
	case bpfOriginORIGIN_POOL:
		s.Name = record.Holds.Pool.Service
	case bpfOriginORIGIN_COOKIE: // the name that it was asked for by is not kept
		slot = webName(record)
	case bpfOriginORIGIN_WEB:
		s.Name = webName(record)
	default:
		return
	}
	s.Tentative = record.Marks.As.Flags&sessionTentative != 0
	if origin == bpfOriginORIGIN_WEB || int(slot) >= len(bindings) {
		return
	}
	s.Binding = bindingID(slot, bindings[slot].number)
	if origin == bpfOriginORIGIN_COOKIE {
		s.Name = bindings[slot].name
	}
}

func sessionOf(s *bpfSession, tick uint32) Session {
	return Session{
		Protocol: model.Protocol(s.Protocol),
		Private:  netip.AddrPortFrom(addressOf(s.PrivateAddress), swap(s.PrivatePort)),
		External: netip.AddrPortFrom(addressOf(s.ExternalAddress), swap(s.ExternalPort)),
		Remote:   netip.AddrPortFrom(addressOf(s.RemoteAddress), swap(s.RemotePort)),
		State:    tcpStates[int(s.Life.As.Tcp)%len(tcpStates)], Origin: origins[int(s.Origin)%len(origins)],
		Hairpin: s.Marks.As.Flags&sessionHairpin != 0, Generation: s.Policy >> policyBits,
		Age: since(tick, s.Opened), Idle: since(tick, s.Life.As.Stamp), version: s.Life.As.Version,
	}
}

func since(tick, stamp uint32) time.Duration {
	return time.Duration(max(0, int32(tick-stamp))) << tickShift
}

// String writes the session in one line.
func (s Session) String() string {
	return strings.Join([]string{s.Protocol.String(), s.Private.String(), s.External.String(), s.Remote.String(), s.State}, " ")
}
