package allocation

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// Two hosts change their private addresses with each other: whoever has a session with one of them is with the other
// else, as both open the same port. By a reload, and by a start that adopts.
func TestHostsThatSwapTheirAddresses(t *testing.T) {
	for _, reload := range []bool{true, false} {
		w := newWorld(t, 4, webs(3))
		stands := func(n int, origin string) {
			w.plane.standing = append(w.plane.standing, datapath.Session{
				Protocol: model.UDP, Remote: netip.AddrPortFrom(client, uint16(4000+n)), Private: netip.AddrPortFrom(web(n).Host, 8080), Origin: origin,
			})
		}
		for n := 1; n <= 3; n++ {
			w.mustAsk(stranger(n), web(n))
			stands(n, "pool")
			stands(n, "inside")
		}
		w.claim()
		w.services[0].Host, w.services[1].Host = w.services[1].Host, w.services[0].Host
		if reload {
			if err := w.Configure(w.config()); err != nil {
				t.Fatal(err)
			}
		} else {
			w.begin(true)
		}
		var left []string
		for _, s := range w.plane.standing {
			left = append(left, s.Private.Addr().String()+" "+s.Origin)
		}
		if len(left) != 4 || left[2] != web(3).Host.String()+" pool" {
			t.Errorf("by reload: %v, left: %v", reload, left)
		}
		if err := w.Configure(w.config()); err != nil || len(w.plane.standing) != 4 {
			t.Errorf("a second reload: %d left, %v", len(w.plane.standing), err)
		}
	}
}
