package datapath

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Told is what a FlowEvent tells (bpf/include/messages.h).
type Told uint16

// The kinds.
const (
	MappingBegins  = Told(bpfToldTOLD_MAPPING_BEGINS)
	MappingEnds    = Told(bpfToldTOLD_MAPPING_ENDS)
	SessionBegins  = Told(bpfToldTOLD_SESSION_BEGINS)
	SessionChanges = Told(bpfToldTOLD_SESSION_CHANGES) // its TCP state
	SessionEnds    = Told(bpfToldTOLD_SESSION_ENDS)

	bothBegin = Told(bpfToldTOLD_BOTH_BEGIN) // a session, and its mapping: two FlowEvents
)

// FlowEvent tells what becomes of a mapping, or of a session. Events can be lost when the reader is too slow: FlowsUntold
// counts them.
type FlowEvent struct {
	At       model.Instant
	Told     Told
	Protocol model.Protocol
	Private  netip.AddrPort
	External netip.AddrPort
	Remote   netip.AddrPort // from here on of sessions alone
	State    string         // as Session has it
	Origin   string
	Hairpin  bool
	Name     uint32 // number of the service name it was asked by; 0: none
}

// Watch is what somebody wants to hear of packets and flows; nil: nothing. What hears is called by one goroutine, keeps nobody
// else waiting for long, and does not watch or unwatch itself.
type Watch struct {
	Drop    func(DropEvent)
	Mapping func(FlowEvent)
	Session func(FlowEvent)
	Heard   func()      // all that was taken out at once
	Failed  func(error) // what could not be read
}

// Watch has somebody hear from now on, and of what the ring still has from an earlier process. nil has the programs tell
// nothing but what others watch.
func (d *flowTable) Watch(w *Watch) error {
	d.hearing.Lock()
	defer d.hearing.Unlock()
	if w != nil {
		d.watches = append(slices.Clone(d.watches), w)
	}
	if len(d.watches) > 0 && d.reader == nil {
		reader, err := d.newFlowReader()
		if err != nil {
			d.watches = d.watches[:len(d.watches)-1]
			return err
		}
		before, over := d.over, make(chan struct{})
		d.reader, d.over = reader, over
		go func() {
			defer close(over)
			reader.follow(before)
		}()
	}
	d.say()
	return nil
}

// Unwatch ends a watch. While others watch, it may still hear of an event that is on its way.
func (d *flowTable) Unwatch(w *Watch) {
	d.hearing.Lock()
	d.watches = slices.DeleteFunc(slices.Clone(d.watches), func(o *Watch) bool { return o == w })
	d.say()
	over := d.end(len(d.watches) == 0)
	d.hearing.Unlock()
	if over != nil {
		<-over
	}
}

// end has the ring read no more. What is in it is left to the next who watches.
func (d *flowTable) end(really bool) <-chan struct{} {
	if !really || d.reader == nil {
		return nil
	}
	_ = d.reader.ring.Close()
	d.reader = nil
	return d.over
}

// StopWatches ends all watches, and leaves it to the programs to go on telling: for the next process.
func (d *flowTable) StopWatches() {
	d.hearing.Lock()
	over := d.end(true)
	d.hearing.Unlock()
	if over != nil {
		<-over // and what was taken out of the ring is heard
	}
	d.hearing.Lock()
	d.watches = nil
	d.hearing.Unlock()
}

// FinishWatches ends all watches when they have heard of all that the ring has. It is for when the programs tell no more.
func (d *flowTable) FinishWatches() error {
	d.hearing.Lock()
	reader, over := d.reader, d.over
	d.hearing.Unlock()
	if reader != nil {
		if err := reader.ring.Flush(); err != nil {
			return fmt.Errorf("read the last events: %w", err)
		}
		<-over
	}
	d.StopWatches()
	return nil
}

// say tells the programs what is watched.
func (d *flowTable) say() {
	var what bpfWatch
	for _, w := range d.watches {
		if w.Drop != nil {
			what |= bpfWatchWATCH_DROPS
		}
		if w.Mapping != nil {
			what |= bpfWatchWATCH_MAPPINGS
		}
		if w.Session != nil {
			what |= bpfWatchWATCH_SESSIONS
		}
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.changeControl(func(c *bpfControl) { c.Watch = uint32(what) })
}

func (d *flowTable) now() []*Watch {
	d.hearing.Lock()
	defer d.hearing.Unlock()
	return d.watches
}

// mapping is what an event says of the mapping it is about, if it is about one.
func (e FlowEvent) mapping() (FlowEvent, bool) {
	switch e.Told {
	case bothBegin:
		e.Told = MappingBegins
	case MappingBegins, MappingEnds:
	default:
		return e, false
	}
	return FlowEvent{At: e.At, Told: e.Told, Protocol: e.Protocol, Private: e.Private, External: e.External}, true
}

// session is the same of a session.
func (e FlowEvent) session() (FlowEvent, bool) {
	if e.Told == bothBegin {
		e.Told = SessionBegins
	}
	return e, e.Told >= SessionBegins
}

func flowOf(e *bpfFlowEvent) FlowEvent {
	return FlowEvent{
		At: model.Instant(e.At), Told: Told(e.Told), Protocol: model.Protocol(e.Protocol),
		Private:  netip.AddrPortFrom(addressOf(e.PrivateAddress), swap(e.PrivatePort)),
		External: netip.AddrPortFrom(addressOf(e.ExternalAddress), swap(e.ExternalPort)),
		Remote:   netip.AddrPortFrom(addressOf(e.RemoteAddress), swap(e.RemotePort)),
		State:    tcpStates[int(e.Tcp)%len(tcpStates)], Origin: origins[int(e.Origin)%len(origins)],
		Hairpin: e.Flags&sessionHairpin != 0, Name: e.Name,
	}
}

// FlowsUntold is how many events of flows the ring had no room for, ever, and of how many of these some process has said so.
func (d *flowTable) FlowsUntold() (untold, known uint64, err error) {
	sums, err := sumsOf(d.objects.Statistics)
	if err != nil {
		return 0, 0, err
	}
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return 0, 0, fmt.Errorf("read what is known to be lost: %w", err)
	}
	return sums[bpfStatisticSTATISTIC_FLOWS_UNTOLD], control.UntoldKnown, nil
}

// KnowUntold notes, for later processes, too, of how many events it was said that they were lost.
func (d *flowTable) KnowUntold(n uint64) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.changeControl(func(c *bpfControl) { c.UntoldKnown = n })
}

// Mapping is a private endpoint and the endpoint of an outbound address that stands for it.
type Mapping struct {
	Protocol          model.Protocol
	Private, External netip.AddrPort
}

// Mappings calls visit for each, those whose port rests included, in no order.
func (d *flowTable) Mappings(visit func(Mapping)) error {
	var addresses [model.MaxOutbound]netip.Addr
	var slot bpfSlot
	for i := range d.layout.Slots {
		if err := d.objects.SlotTable.Lookup(i, &slot); err != nil {
			return fmt.Errorf("read slot %d: %w", i, err)
		}
		addresses[i] = addressOf(slot.Address)
	}
	return ForAll(d.objects.MappingTable, func(number uint32, block *bpfMappingBlock) {
		for i, word := range block.Endpoint {
			if e := endpointOf(word); word != 0 && bpfPhase(e.Phase) != bpfPhasePHASE_FREE {
				place := int(number)*mappingBlock + i
				visit(Mapping{
					portProtocols[place/ports%protocols], netip.AddrPortFrom(addressOf(e.Address), swap(e.Port)),
					netip.AddrPortFrom(addresses[place/ports/protocols], uint16(place%ports)),
				})
			}
		}
	})
}
