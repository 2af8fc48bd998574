package e2e

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// forget has a host's DHCP client end without a word: it keeps its address, and its lease ends by itself.
func (l *leased) forget() {
	_ = l.client.Process.Kill()
	_ = l.client.Wait()
	l.client = nil
}

// ends is when the lease of a host ends, as the gateway says.
func (d *daemon) ends(name string) (at time.Time) {
	d.t.Helper()
	for _, h := range list[[]client.Host](d, "hosts") {
		if h.Name == name {
			at = h.Ends
		}
	}
	if left := time.Until(at); left < 5*time.Second {
		d.t.Fatalf("the lease of %s ends in %s: that is too late, or too soon to show anything", name, left)
	}
	return at
}

// A killed daemon loses no session with a host that has registered itself, nor its name. The next daemon ends both when the lease
// does, and at its start where that was while there was none.
func TestKillHonoursLeases(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, RemoteClients: 1})
	d := r.start(with(r.configuration(), dynamicHosts("kea: "+r.keaLeases(40*time.Second, ""))))
	from := r.RemoteClients[0]
	joins := func(host netns.Node, name string) (*leased, netip.Addr, net.Conn) {
		t.Helper()
		l := r.lease(host, name, "the "+name)
		r.soonReaches(name+".foo.example.", "the "+name)
		at := r.mustLend(from, name+".foo.example.")
		talk, err := from.DialContext(t.Context(), "tcp4", netip.AddrPortFrom(at, 80).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = talk.Close() })
		if !d.speaks(talk) {
			t.Fatalf("%s does not answer", name)
		}
		l.forget()
		return l, at, talk
	}
	cut := func(l *leased, talk net.Conn) {
		t.Helper()
		if n := len(d.sessions("--address", l.IP.String())); n > 0 || d.speaks(talk) {
			t.Errorf("%d sessions with %s outlive its lease", n, l.IP)
		}
	}
	laptop, at, talk := joins(r.Hosts()[1], "laptop")
	ends := d.ends("laptop.foo.example.")
	d.kill()
	d.run()
	if !d.status().Adopted || !d.speaks(talk) {
		t.Error("the session did not survive a kill")
	}
	if now := r.mustLend(from, "laptop.foo.example."); now != at || !r.reaches("laptop.foo.example.", "the laptop") {
		t.Errorf("the name had %s, and has %s", at, now)
	}
	if again := d.ends("laptop.foo.example."); !again.Equal(ends) {
		t.Errorf("its lease was to end at %s, and is at %s", ends, again)
	}
	<-time.After(time.Until(ends))
	r.soonGone("laptop.foo.example.")
	cut(laptop, talk)

	phone, _, call := joins(r.Hosts()[2], "phone")
	ends = d.ends("phone.foo.example.")
	d.kill()
	<-time.After(time.Until(ends))
	if !d.speaks(call) {
		t.Error("while there is no daemon nothing ends: the test shows nothing")
	}
	d.run()
	r.soonGone("phone.foo.example.")
	cut(phone, call)
}
