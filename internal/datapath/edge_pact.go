package datapath

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Pact is what two edges have agreed on for a host inside and a name behind the other edge.
type Pact struct {
	Number    uint16 // 1 to Options.Pacts; the low half of Own
	Own, Peer uint32 // tags: ours, and the other edge's
	Host      netip.Addr
	Proxy     netip.Addr // stands for the remote host
	Until     model.Instant
	Used      model.Instant // of the last packet, a tick late at most; zero: none yet
	Link      uint32        // number
	Out, In   bool          // who may open flows: the host, and who is behind the other edge
	Ping      bool          // the host answers pings
	Whole     bool          // it opens every port, whatever Ways say
	Ways      []Way         // at most MaxPactServices
	Rate      uint16        // sessions that the other edge may open in a second; 0: any
	Most      uint16        // sessions of the other edge's that may stand; 0: any
	Sessions  uint32        // of these that stand: read back alone
}

// Way is a port of the host that the other edge may open flows to.
type Way struct {
	Protocol model.Protocol
	Port     uint16 // as the other edge says it
	To       uint16 // the host's own
}

// ErrTooManyWays says that a pact has more ports than its record.
var ErrTooManyWays = errors.New("more ports than a pact has room for")

func (p *Pact) request() (*bpfPactRequest, error) {
	if len(p.Ways) > MaxPactServices {
		return nil, fmt.Errorf("%w: %d, at most %d", ErrTooManyWays, len(p.Ways), MaxPactServices)
	}
	if p.Link > math.MaxUint16 || !p.Host.Is4() || !p.Proxy.Is4() {
		return nil, fmt.Errorf("a pact of %s with %s by link %d", p.Host, p.Proxy, p.Link)
	}
	r := &bpfPactRequest{Number: uint32(p.Number)}
	r.Pact = bpfPact{
		OwnTag: p.Own, PeerTag: p.Peer, Host: networkOrder(p.Host), Proxy: networkOrder(p.Proxy),
		Until: uint32(p.Until >> tickShift), Used: stampOf(p.Used), Link: uint16(p.Link), Services: uint8(len(p.Ways)),
		Rate: p.Rate, Most: p.Most,
	}
	for _, flag := range []struct {
		is  bool
		bit bpfPactFlag
	}{
		{p.Out, bpfPactFlagPACT_OUT}, {p.In, bpfPactFlagPACT_IN}, {p.Ping, bpfPactFlagPACT_PING}, {p.Whole, bpfPactFlagPACT_WHOLE},
	} {
		if flag.is {
			r.Pact.Flags |= uint8(flag.bit)
		}
	}
	for i, w := range p.Ways {
		r.Pact.Protocol[i], r.Pact.Port[i], r.Pact.To[i] = uint8(w.Protocol), swap(w.Port), swap(w.To)
	}
	return r, nil
}

// pactOf reads a record back.
func pactOf(number uint32, r *bpfPact) Pact {
	has := func(bit bpfPactFlag) bool { return r.Flags&uint8(bit) != 0 }
	p := Pact{
		Number: uint16(number), Own: r.OwnTag, Peer: r.PeerTag, Host: addressOf(r.Host), Proxy: addressOf(r.Proxy),
		Until: model.Instant(r.Until) << tickShift, Used: usedAt(r.Used), Link: uint32(r.Link), Rate: r.Rate, Most: r.Most,
		Out: has(bpfPactFlagPACT_OUT), In: has(bpfPactFlagPACT_IN), Ping: has(bpfPactFlagPACT_PING), Whole: has(bpfPactFlagPACT_WHOLE),
	}
	for i := range min(int(r.Services), MaxPactServices) {
		p.Ways = append(p.Ways, Way{model.Protocol(r.Protocol[i]), swap(r.Port[i]), swap(r.To[i])})
	}
	return p
}

// PutPact has packets pass by a pact whose number nobody has; its link may come later. Until is met to a tick, 0.27 s, before it.
func (d *edgeTable) PutPact(p Pact) error {
	r, err := p.request()
	if err != nil {
		return err
	}
	return d.edgeRun(d.objects.PutPact, r, &r.Error, fmt.Sprintf("put pact %08x of %s with %s", p.Own, p.Host, p.Proxy))
}

// ChangePact gives a pact that stands other terms: its directions, ways, limits and lease. ErrSpent: it does not stand.
func (d *edgeTable) ChangePact(p Pact) error {
	r, err := p.request()
	if err != nil {
		return err
	}
	var now bpfPact
	if err := d.objects.PactTable.Lookup(r.Number, &now); err != nil {
		return fmt.Errorf("read pact %08x: %w", p.Own, err)
	}
	change := fmt.Sprintf("change pact %08x", p.Own)
	if now.Services > 0 && !slices.Equal(pactOf(r.Number, &now).Ways, p.Ways) {
		none := *r // no packet that reads the ways sees some of them new and some old
		none.Pact.Services = 0
		if err := errors.Join(d.edgeRun(d.objects.ChangePact, &none, &none.Error, change), d.grace()); err != nil {
			return err
		}
	}
	return d.edgeRun(d.objects.ChangePact, r, &r.Error, change)
}

// EndPacts ends pacts by their own tags, those that do not stand any more aside. When it returns no packet passes by them.
// Their sessions end with the next sweep.
func (d *edgeTable) EndPacts(own ...uint32) error {
	if len(own) == 0 {
		return nil
	}
	var errs []error
	for _, tag := range own {
		r := bpfPactRequest{Number: tag % pactNumbers}
		r.Pact.OwnTag = tag
		if err := d.edgeRun(d.objects.EndPact, &r, &r.Error, fmt.Sprintf("end pact %08x", tag)); err != nil && !errors.Is(err, ErrSpent) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, d.grace())...)
}

// Pacts calls visit for the pacts that stand, those whose lease is over too, in the order of their numbers, until it returns
// false.
func (d *edgeTable) Pacts(visit func(Pact) bool) error {
	sessions, err := (&sessionTable{d.core}).Remotes()
	if err != nil {
		return err
	}
	return forFrom(d.objects.PactTable, 1, func(number uint32, r *bpfPact) bool {
		if r.OwnTag == 0 {
			return true
		}
		p := pactOf(number, r)
		p.Sessions = uint32(sessions[p.Proxy])
		return visit(p)
	})
}
