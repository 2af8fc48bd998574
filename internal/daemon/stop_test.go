package daemon

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// wire is one side of a gateway, seen from outside of it.
type wire struct {
	*netns.Frames
	here, gateway packets.MAC
}

func (b *rig) wire(name string, neighbour netip.Addr) (w wire) {
	b.t.Helper()
	mac := func(of *netns.Namespace) (m packets.MAC) {
		b.must(of.Do(func() error {
			link, err := netlink.LinkByName(name)
			if err == nil {
				copy(m[:], link.Attrs().HardwareAddr)
			}
			return err
		}))
		return m
	}
	w.here, w.gateway = mac(b.outside), mac(b.namespace)
	b.must(b.namespace.Neighbour(name, neighbour, w.here[:]))
	var err error
	w.Frames, err = b.outside.Frames(name)
	b.must(err)
	b.t.Cleanup(func() { _ = w.Close() })
	return w
}

// passes sends packets into the gateway, and returns how many come out at another side with the same source, and with another.
func (w wire) passes(t *testing.T, to wire, p packets.Packet) (same, translated int) {
	t.Helper()
	const sent = 20
	for i := range sent {
		p.UDP.Source = uint16(4000 + i)
		if err := w.Send(p.Between(w.here, w.gateway).Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(100 * time.Millisecond); same+translated < sent; {
		frame, err := to.Receive(deadline)
		if err != nil {
			return same, translated
		}
		out, err := packets.Parse(frame)
		switch {
		case err != nil || out.UDP == nil || out.Tuple().Destination != p.Tuple().Destination:
		case out.Tuple().Source.Addr() == p.Tuple().Source.Addr():
			same++
		default:
			translated++
		}
	}
	return same, translated
}

// A gateway that stops for good on a host which forwarded before it came lets nothing pass that no program has judged, in either
// direction, while it still writes what its log has to say. When it has stopped the host is as it was.
func TestStopForwardsNothingUnjudged(t *testing.T) {
	t.Parallel()
	r := newIdleRig(t, slog.New(slog.DiscardHandler))
	r.must(r.namespace.SetSysctl("net/ipv4/ip_forward", "1"))
	r.begin(text)
	server, host := packets.At("198.18.0.9:9"), packets.At("10.0.0.77:9")
	public, private := r.wire("eth0", server.Addr()), r.wire("eth1", host.Addr())
	r.must(r.namespace.Do(r.data.Refresh))
	out, in := packets.NewUDP(host, server, "out"), packets.NewUDP(server, host, "in")
	if same, translated := private.passes(t, public, out); translated == 0 || same > 0 {
		t.Fatalf("before the stop %d packets leave translated, and %d as they were", translated, same)
	}
	for i := len(r.services) - 1; i >= 0; i-- {
		s := r.services[i]
		if s.Stop == nil {
			continue
		}
		r.must(r.namespace.Do(s.Stop))
		if s.Name == "data plane" {
			break
		}
		leave, _ := private.passes(t, public, out)
		if enter, _ := public.passes(t, private, in); enter+leave > 0 {
			t.Errorf("when %q has stopped, %d packets leave and %d enter unjudged", s.Name, leave, enter)
		}
	}
	for _, name := range []string{"eth0", "eth1"} {
		if now, err := r.namespace.Sysctl("net/ipv4/conf/" + name + "/forwarding"); err != nil || now != "1" {
			t.Errorf("the forwarding of %s was 1, and is %s, %v", name, now, err)
		}
	}
	leave, _ := private.passes(t, public, out)
	if enter, _ := public.passes(t, private, in); enter == 0 || leave == 0 {
		t.Errorf("the host does not forward any more as it did before the gateway came: %d leave, %d enter", leave, enter)
	}
}
