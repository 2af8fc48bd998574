package daemon

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// Pool and name server are at whatever address the interface has; what was at the old one ends with it.
func TestOneAddressFollowsTheInterface(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.NewReplacer("[198.18.0.1]", "[eth0]", "public: 198.18.0.1", "public: eth0").Replace(single))
	r.routed()
	if lent := r.mustAsk(www); lent != theOne {
		t.Fatalf("%s is lent", lent)
	}
	r.admits(remote, theOne, 80)
	r.takes(netlink.AddrDel, "198.18.0.1/24")
	if address, err := r.ask(www); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("without an address: %s, %v", address, err)
	}
	if at := r.view.Load().config.DNS.Public; at.String() != "0.0.0.0:53" {
		t.Errorf("without an address the name server is at %s", at)
	}
	r.takes(netlink.AddrAdd, "198.18.9.1/24")
	r.must(r.namespace.Route("default", "198.18.9.254"))
	r.must(r.namespace.Do(r.data.Refresh))
	next := netip.MustParseAddr("198.18.9.1")
	if lent := r.mustAsk(www); lent != next {
		t.Fatalf("%s is lent", lent)
	}
	if at := r.view.Load().config.DNS.Public; at.String() != "198.18.9.1:53" {
		t.Errorf("the name server is at %s", at)
	}
	r.admits(visitor(1, 4000), next, 80)
	if end := r.proves(remote, netip.AddrPortFrom(theOne, 80)); end != "drop_not_for_us" {
		t.Errorf("a packet to the old address ended with %s", end)
	}
	if end := r.arp("198.18.0.1"); end == "answered_arp" {
		t.Error("ARP for the old address is answered")
	}
	if n := len(r.bound()); n != 1 {
		t.Errorf("%d bindings stand", n)
	}
	for _, port := range []uint16{80} {
		if host, mapped, err := r.data.MappedTo(model.TCP, netip.AddrPortFrom(next, port)); mapped || err != nil {
			t.Errorf("port %d is of %s, %v", port, host, err)
		}
	}
	r.restart(true, "")
	if lent := r.mustAsk(www); lent != next {
		t.Errorf("after a restart %s is lent", lent)
	}
	r.admits(visitor(2, 4000), next, 80)
	r.must(r.reloadWith(r.text + otherHost("b", 101)))
	r.takes(netlink.AddrDel, "198.18.9.1/24")
	r.takes(netlink.AddrAdd, "198.18.0.1/24")
	if lent := r.mustAsk(www); lent != theOne {
		t.Errorf("back at the first address %s is lent", lent)
	}
	if err := r.reloadWith(strings.Replace(r.text, "public: eth0", "public: 198.18.0.1", 1)); err == nil || !strings.Contains(err.Error(), "dns.public changed") {
		t.Errorf("another name server: %v", err)
	}
	for _, c := range []string{"open: all", "open: [icmp]"} {
		bad := strings.Replace(r.text, "services: [{name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}]", c, 1)
		if err := Check(document(t, bad)); err == nil || !strings.Contains(err.Error(), "of eth0") {
			t.Errorf("%s: %v", c, err)
		}
	}
}
