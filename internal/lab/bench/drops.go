package bench

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// drops are frames that found a queue full: before is in front of the device, which was
// too slow then, and behind it, where the tester's sinks were.
type drops struct{ before, behind uint64 }

// drops reads the counters of the links between tester and device. What a full queue at
// one end of a veth drops both ends count, one as received and one as sent: they are read
// at the device's end, or at the tester's where the device is none of ours.
func (r *Rig) drops() (d drops, err error) {
	if r.Device == nil {
		d.behind, d.before, err = droppedAt(r.Initiator.Name, r.Responder.Name)
		return d, err
	}
	err = r.Device.Do(func() (err error) {
		d.before, d.behind, err = droppedAt(PrivateInterface, PublicInterface)
		return err
	})
	return d, err
}

// droppedAt adds up what interfaces of this thread's namespace count as dropped.
func droppedAt(names ...string) (received, sent uint64, err error) {
	for _, name := range names {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return 0, 0, fmt.Errorf("read the counters of %s: %w", name, err)
		}
		if s := link.Attrs().Statistics; s != nil {
			received, sent = received+s.RxDropped, sent+s.TxDropped
		}
	}
	return received, sent, nil
}

// losses add up over all trials of a device.
type losses struct {
	lost uint64
	drops
}

func (l *losses) add(lost uint64, before, after drops) {
	l.lost += lost
	l.before += after.before - before.before
	l.behind += after.behind - before.behind
}

// noteLosses says where frames were lost in the paced set-up, at which points of a sweep. A queue may also have
// dropped frames that a trial does not miss: what is left then cannot be told.
func (t *Tester) noteLosses(points string) {
	l := t.losses
	if l.lost == 0 {
		return
	}
	others := "the others are lost inside of it"
	if l.before+l.behind > l.lost {
		others = "which is more than were missed, since these links carry other frames too"
	}
	t.bench.Note("of %d frames that %s lost in all trials%s, also those that ask for too much, %d met a full queue in front of it and %d one behind it, "+
		"where the tester takes them; %s", l.lost, t.dut.Name, points, l.before, l.behind, others)
}
