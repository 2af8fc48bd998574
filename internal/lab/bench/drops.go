package bench

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// drops are frames that found a queue full: in front of the device, which was too slow
// then, and behind it, where the tester's sinks were.
type drops struct{ before, behind uint64 }

// drops reads the counters of the device's interfaces. What a full queue at one end of
// a veth drops both ends count, one as received and one as sent.
func (r *Rig) drops() (d drops, err error) {
	if r.Device == nil {
		return d, nil
	}
	err = r.Device.Do(func() error {
		for _, name := range []string{PrivateInterface, PublicInterface} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return fmt.Errorf("read the counters of %s: %w", name, err)
			}
			if s := link.Attrs().Statistics; s != nil {
				d.before, d.behind = d.before+s.RxDropped, d.behind+s.TxDropped
			}
		}
		return nil
	})
	return d, err
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

// noteLosses says where frames were lost in the paced set-up.
func (b *Bed) noteLosses() {
	if l := b.losses; l.lost > 0 {
		b.bench.Note("of %d frames that %s lost in all trials, also those that ask for too much, %d met a full queue in front of it and %d one behind it, "+
			"where the tester takes them; it dropped the others itself", l.lost, b.Name, l.before, l.behind)
	}
}
