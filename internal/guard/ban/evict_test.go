package ban

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// linkOf is one of many /64.
func linkOf(i int) netip.Prefix {
	var b [16]byte
	b[0] = 0x20
	binary.BigEndian.PutUint32(b[4:], uint32(i))
	return netip.PrefixFrom(netip.AddrFrom16(b), model.OffenderBits)
}

// Bans of offenders leave room for bans by hand, and give way to others where there are
// too many: those that end soonest. Bans by hand never do.
func TestBansOfOffendersAreEvicted(t *testing.T) {
	var l List
	for i := range MostAutomatic {
		l.Put([]Ban{{Prefix: linkOf(i), Until: start.Add(time.Duration(i) * time.Second), Offence: 1}})
	}
	room := func(what string, most int, made Ban, instead ...netip.Prefix) []netip.Prefix {
		t.Helper()
		gone, err := l.Evict([]Ban{made}, instead)
		if err != nil || len(gone) != most {
			t.Errorf("%s: %d give way, want %d: %v", what, len(gone), most, err)
		}
		return gone
	}
	const batch = MostAutomatic / 16
	room("a ban by hand", 0, Ban{Prefix: one})
	room("one that is there already", 0, Ban{Prefix: linkOf(7), Offence: 2})
	room("one in place of another", 0, Ban{Prefix: one, Offence: 1}, linkOf(7))
	room("one by hand in place of an offender's", 0, Ban{Prefix: linkOf(7)})
	for i, p := range room("one more", batch, Ban{Prefix: one, Offence: 1}) {
		if p != linkOf(i) {
			t.Fatalf("%s gave way, and not %s", p, linkOf(i))
		}
	}
	if gone := room("one by hand made an offender's", 0, Ban{Prefix: linkOf(7), Offence: 3}, linkOf(8)); gone != nil {
		t.Error(gone)
	}
	for i := range Most - MostAutomatic {
		l.Put([]Ban{{Prefix: linkOf(1<<24 + i)}})
	}
	room("one more by hand than room is left for", batch, Ban{Prefix: one})
	for i := range MostAutomatic {
		l.Put([]Ban{{Prefix: linkOf(i)}})
	}
	if _, err := l.Evict([]Ban{{Prefix: one, Offence: 1}}, nil); err == nil || !strings.Contains(err.Error(), "realmgate ban remove") {
		t.Errorf("where all are by hand: %v", err)
	}
	if len(l.Remove([]netip.Prefix{linkOf(1)})) != 1 || l.automatic != 0 {
		t.Errorf("%d are counted as offenders'", l.automatic)
	}
	room("one in the last place", 0, Ban{Prefix: one})
}
