package datapath

import (
	"errors"
	"slices"
)

// What begins a frame that goes through the carrier, in the place of its link addresses (bpf/fragment/carrier.h): it comes in again by
// the interface at replayBy, once, or twice before anybody can answer the first, and its link addresses stand behind it; or it is
// of a hairpin.
const (
	replayMessage = 0x57
	replayTwice   = 0x58
	againMessage  = 0x59
	replayBy      = 4
	linkAddresses = 12 // octets
)

// Replay sends a frame again as if it had come in by an interface: by a public one from outside, by a private one as it is in a
// hairpin, translated on its way out. It does so 1 or 2 times: from outside the second comes before anybody can answer the
// first. It is to run in the gateway's network namespace.
func (d *replayer) Replay(ifindex int, frame []byte, times int) error {
	mode, hairpin := d.portOf(ifindex)
	switch {
	case mode == "":
		return errNoPort
	case mode == XDP:
		return d.replayFrames(ifindex, frame, times, hairpin)
	case !hairpin:
		return d.replayBuffers(ifindex, frame, times)
	}
	message := slices.Clone(frame)
	message[0] = againMessage
	for range times { // clients of hairpins are near: twice is two messages
		if err := d.carry(message); err != nil {
			return err
		}
	}
	return nil
}

// portOf is the mode of an interface, "" of one that is none of the gateway's, and whether frames that came in by it to web addresses
// are of hairpins: by a private one, or as carrier_again has them come.
func (d *replayer) portOf(ifindex int) (mode Mode, hairpin bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, p := range d.ports {
		if p.ifindex == ifindex {
			return p.mode, p.side == bpfSideSIDE_PRIVATE
		}
	}
	if ifindex != 0 && ifindex == d.carrier.far {
		return TCX, true
	}
	return "", false
}

var errNoPort = errors.New("send a frame again: the interface by which it came is not the gateway's any more")

var errNoCarrier = errors.New("there are no interfaces to send frames again by")

// carry sends a message to the program at the far end of the carrier.
func (d *replayer) carry(message []byte) error {
	d.mutex.Lock()
	near := d.carrier.near
	d.mutex.Unlock()
	if near == 0 {
		return errNoCarrier
	}
	return d.send(near, message)
}

// Send sends a frame of a web address out by the interface that its client's came in by: to one inside by the way of a
// hairpin's answers, which it has to be translated by.
func (d *replayer) Send(ifindex int, frame []byte) error {
	if _, hairpin := d.portOf(ifindex); hairpin {
		return d.Replay(ifindex, frame, 1)
	}
	return d.send(ifindex, frame)
}
