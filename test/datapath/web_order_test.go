package datapath

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
)

const firstData = "POST / HTTP/1.1\r\n"

// opensInOrder is a visit whose host has answered, and whose first data are still with the daemon.
func opensInOrder(t *testing.T) *visit {
	t.Helper()
	g := newGateway(t)
	g.serves(allPromised)
	v := g.visitor(client, fullAbility, fullAbility)
	v.knocks(allPromised)
	v.connects(firstData)
	v.opensBehind()
	return v
}

// opensBehind is opens where the daemon has frames to send before what comes.
func (v *visit) opensBehind() {
	v.t.Helper()
	v.answered()
	same(v.gateway, "opened", v.tells(datapath.WebOpened)[0].Flow, v.flow())
}

// after is a segment of the client's behind so many octets.
func (v *visit) after(octets int, flags packets.Flags, data string) packets.Packet {
	return v.from(flags, v.isn+1+uint32(octets), v.cookie+1, data, stamps(clientClock+6, v.clock)) //nolint:gosec // a small number
}

// waits wants a segment to go to the daemon.
func (v *visit) waits(p packets.Packet) {
	v.t.Helper()
	same(v.gateway, "reason", v.put(p).reason, "held_for_name")
	same(v.gateway, "the daemon sees", string(v.tells(datapath.WebLater)[0].Frame), string(addressed(p).Bytes()))
}

// state is that of the only session.
func (v *visit) state() string {
	v.t.Helper()
	v.count(1)
	return string(v.sessions()[0].State)
}

// What comes behind the first data does not overtake them, though their host has answered.
func TestWebKeepsOrder(t *testing.T) {
	t.Parallel()
	v := opensInOrder(t)
	n := len(firstData)
	v.waits(v.after(n, packets.ACK, "body"))
	v.forwarded(v.put(v.after(n+4, packets.ACK, ""))) // without data there is no order
	v.forwarded(v.put(v.first(firstData)))            // the daemon sends what it has
	v.waits(v.after(n+4, packets.ACK, "more"))
	v.forwarded(v.put(v.after(n, packets.ACK, "body")))
	v.forwarded(v.put(v.says(packets.ACK, hostISN+1, v.isn+1, "", stamps(hostClock+1, clientClock+6)))) // the host's are in no queue
	ahead := v.after(n+8, packets.ACK, "last").Change(func(p *packets.Packet) { p.TCP.Acknowledge += 1 << 20 })
	v.waits(ahead)                                      // though it acknowledges what the host has said since
	v.forwarded(v.put(v.after(n, packets.ACK, "body"))) // once more
	check(t, v.data.ForgetWeb(v.flow()))
	v.forwarded(v.put(v.after(n+8, packets.ACK, "last")))
	same(v.gateway, "then", v.state(), "established")
	v.forwarded(v.put(v.after(n+4, packets.ACK, "more")))
	v.sound()
}

// At XDP the daemon sends a frame when the program has run over it, at tcx the program does: until then what is behind it waits.
func TestWebKeepsOrderUntilItIsSent(t *testing.T) {
	t.Parallel()
	v := opensInOrder(t)
	n := len(firstData)
	first := addressed(v.first(firstData)).Bytes()
	v.in(func() error {
		if datapath.Mode(*modeFlag) != datapath.XDP {
			return nil
		}
		action, _, err := dataplane.Inject(v.data, dataplane.Injected{
			Frame: datapath.Frame{Public: true, Ifindex: v.public, Octets: first}, Metadata: datapath.ReplayMetadata,
		})
		if err == nil && action != dataplane.Redirect {
			err = fmt.Errorf("the program says %s", action)
		}
		return err
	})
	v.waits(v.after(n, packets.ACK, "body"))
	forwarded := v.counters()["forwarded"]
	v.in(func() error { return v.data.Replay(v.public, first, 1) })
	same(v.gateway, "forwarded by the run", v.counters()["forwarded"], forwarded+1)
	v.forwarded(v.put(v.after(n, packets.ACK, "body")))
	v.forwarded(v.put(v.after(n+4, packets.ACK, "more")))
	v.in(func() error { return v.data.Replay(v.public, first, 1) }) // once more takes nothing back
	v.forwarded(v.put(v.after(n+8, packets.ACK, "last")))
	v.sound()
}

// A daemon that goes before it has sent what it has keeps the order for no longer than four.
func TestWebOrderHasItsTime(t *testing.T) {
	t.Parallel()
	v := opensInOrder(t)
	v.waits(v.after(len(firstData), packets.ACK, "body"))
	check(t, dataplane.Age(v.data, 4*time.Second))
	v.forwarded(v.put(v.after(len(firstData), packets.ACK, "body")))
	same(v.gateway, "state", v.state(), "established")
}

// What the daemon cannot hear of passes, in whatever order: where it is away, or its source has filled what it may.
func TestWebOrderWithoutAnEar(t *testing.T) {
	t.Parallel()
	v := opensInOrder(t)
	ahead := v.after(len(firstData), packets.ACK, "body")
	v.waits(ahead)
	v.in(v.data.StopWebHeartbeat)
	v.forwarded(v.put(ahead))
	w := opensInOrder(t)
	ahead = w.after(len(firstData), packets.ACK, "body")
	for heard := range 2000 {
		if r := w.put(ahead); r.reason != "held_for_name" {
			w.forwarded(r)
			if heard < 200 {
				t.Errorf("%d frames were heard", heard)
			}
			return
		}
	}
	t.Error("all was heard")
}

// A connection that has said all there is within its order is idle as long as any that is established.
func TestWebOrderIsIdle(t *testing.T) {
	t.Parallel()
	v := opensInOrder(t)
	v.forwarded(v.put(v.first(firstData)))
	check(t, v.data.ForgetWeb(v.flow()))
	check(t, dataplane.Age(v.data, time.Hour))
	v.sweep()
	same(v.gateway, "state", v.state(), "established")
	v.forwarded(v.put(v.says(packets.ACK, hostISN+1, v.isn+1, "pushed", stamps(hostClock+1, clientClock+6))))
}

// An end of either side is seen, also while the first data are with the daemon.
func TestWebEndsInOrder(t *testing.T) {
	t.Parallel()
	for state, end := range map[string]func(v *visit) packets.Packet{
		"fin_in": func(v *visit) packets.Packet {
			return v.from(packets.ACK|packets.FIN, v.isn+1, v.cookie+1, firstData, stamps(clientClock+6, v.clock))
		},
		"fin_out": func(v *visit) packets.Packet {
			return v.says(packets.ACK|packets.FIN, hostISN+1, v.isn+1, "", stamps(hostClock+1, clientClock+6))
		},
		"rst": func(v *visit) packets.Packet { return v.says(packets.ACK|packets.RST, hostISN+1, v.isn+1, "", nil) },
	} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			v := opensInOrder(t)
			v.forwarded(v.put(end(v)))
			same(v.gateway, "state", v.state(), state)
			v.sound()
		})
	}
}
