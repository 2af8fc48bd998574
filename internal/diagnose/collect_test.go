package diagnose

import (
	"net"
	"testing"

	"github.com/vishvananda/netlink"
)

func TestTunnelsBeginSomewhere(t *testing.T) {
	t.Parallel()
	here := net.IPv4(198, 18, 0, 2)
	for _, link := range []netlink.Link{&netlink.Gretun{Local: here}, &netlink.Gretap{Local: here}, &netlink.Iptun{Local: here}, &netlink.Sittun{Local: here}} {
		if end := tunnelEnd(link); !end.Equal(here) {
			t.Errorf("%s begins at %v", link.Type(), end)
		}
	}
	for _, link := range []netlink.Link{&netlink.Dummy{}, &netlink.Vxlan{SrcAddr: here}, &netlink.Wireguard{}} {
		if end := tunnelEnd(link); end != nil {
			t.Errorf("%s, which needs ports or none, begins at %v", link.Type(), end)
		}
	}
}
