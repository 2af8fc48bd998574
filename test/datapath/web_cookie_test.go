package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// A cookie is good in the epoch in which it was given and in the next one; then its client hears that it is over.
func TestWebCookieGrowsOld(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	said := func(epochs uint32) uint32 {
		c, err := dataplane.SYNCookie(g.data, v.client, v.to, v.isn, uint32(g.tick())-epochs<<8, byte(v.cookie>>24))
		check(t, err)
		return c
	}
	g.inOneTick(func() {
		v.can = fullAbility
		v.knocks(allPromised)
		same(g, "the cookie", v.cookie, said(0))
	})
	for epochs, want := range []model.Reason{"held_for_name", "held_for_name", "drop_cookie", "drop_cookie"} {
		var got model.Reason
		g.inOneTick(func() {
			got = g.put(v.from(packets.ACK|packets.PSH, v.isn+1, said(uint32(epochs))+1, "GET /", stamps(clientClock+5, v.clock))).reason
		})
		if got != want {
			t.Errorf("after %d epochs: %s, want %s", epochs, got, want)
		}
	}
	g.sound()
}
