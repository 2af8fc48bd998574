package e2e

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// belowMTU is what a link below WireGuard carries, so that full frames fit the tunnel.
const belowMTU = "1600"

// tunOutside makes the gateway's uplink a tun, whose packets a program carries to another at the
// router: as a VPN's, or a modem's.
func (w *works) tunOutside() {
	w.t.Helper()
	w.command("gateway", "ip", "link", "set", "eth0", "down")
	w.command("gateway", "ip", "address", "flush", "dev", "eth0")
	near, far := w.tun("tun0", unix.IFF_TUN), w.tun("tun1", unix.IFF_TUN)
	w.command("gateway", "ip", "link", "set", "tun1", "netns", w.Router.Name())
	w.uplink("tun0", "tun1")
	w.carry(near, far)
}

// tunInside makes its private interface one; the hosts are behind a router.
func (w *works) tunInside() {
	w.t.Helper()
	w.command("gateway", "ip", "link", "set", "eth1", "down")
	w.command("gateway", "ip", "address", "flush", "dev", "eth1")
	near, far := w.tun("tun2", unix.IFF_TUN), w.tun("tun3", unix.IFF_TUN)
	w.command("gateway", "ip", "link", "set", "tun3", "netns", w.Gateway.Switch.Name())
	w.downlink("tun2", "tun3")
	w.carry(near, far)
}

// uplink makes an interface without Ethernet the gateway's public one; far is its other end, at the router.
func (w *works) uplink(near, far string) {
	w.t.Helper()
	w.command("router", "ip", "link", "set", far, "up")
	for _, to := range []string{w.Gateway.PublicAddress.String(), w.Gateway.Outbound.String(), w.Gateway.Pool.String()} {
		w.command("router", "ip", "route", "add", to, "dev", far)
	}
	w.proxyARP("router", "public0") // for the clients, who are in one network with the pool
	w.must(w.Gateway.Address(near, w.Gateway.PublicAddress.String()+"/32"), w.Gateway.Up(near))
	w.command("gateway", "ip", "route", "replace", "default", "dev", near)
	w.public = near
}

// downlink makes one its private interface. far is at the switch, which is a router now.
func (w *works) downlink(near, far string) {
	w.t.Helper()
	w.command("switch", "ip", "link", "set", far, "up")
	w.command("switch", "ip", "address", "add", "10.0.255.254/16", "dev", "private0")
	w.command("switch", "ip", "route", "add", w.Gateway.PrivateAddress.String(), "dev", far)
	w.command("switch", "ip", "route", "add", "default", "dev", far)
	w.command("switch", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	w.proxyARP("switch", "private0")
	w.must(w.Gateway.Address(near, "10.0.0.1/16"), w.Gateway.Up(near))
	w.private = near
}

// proxyARP has a router answer for whom it reaches otherwise, and at once.
func (w *works) proxyARP(namespace, ifname string) {
	w.t.Helper()
	w.command(namespace, "sysctl", "-qw", "net.ipv4.conf."+ifname+".proxy_arp=1", "net.ipv4.neigh."+ifname+".proxy_delay=0")
}

// tuns are on both sides.
func (w *works) tuns() {
	w.t.Helper()
	w.tunOutside()
	w.tunInside()
}

// wireGuards makes both interfaces WireGuard's, over links that are none of the gateway's any more.
func (w *works) wireGuards() {
	w.t.Helper()
	w.command("router", "ip", "link", "set", "gateway-0", "nomaster")
	w.command("switch", "ip", "link", "set", "gateway0", "nomaster")
	near, far := w.tunnel("p", "51820", w.Router, "eth0", "gateway-0", "192.0.2.1", "192.0.2.2", "0.0.0.0/0",
		fmt.Sprintf("%s,%s,%s", w.Gateway.PublicAddress, w.Gateway.Outbound, w.Gateway.Pool))
	w.uplink(near, far)
	near, far = w.tunnel("q", "51821", w.Gateway.Switch, "eth1", "gateway0", "192.0.2.5", "192.0.2.6", "10.0.0.0/16", "0.0.0.0/0")
	w.downlink(near, far)
	for _, far := range []string{"198.18.0.254", "10.0.255.254"} { // programs would find the handshake still going on
		w.must(until(w.t.Context(), func() error { return quietly(w.Gateway.Command(w.t.Context(), "ping", "-c", "1", "-W", "1", far)) }))
	}
}

// tunnel makes one of WireGuard over a link between the gateway and its neighbour, and returns its interfaces.
func (w *works) tunnel(name, port string, neighbour *netns.Namespace, below, farBelow, address, farAddress, allowed, farAllowed string) (near, far string) {
	w.t.Helper()
	w.command("gateway", "ip", "address", "flush", "dev", below)
	ends := [2]struct {
		at                                   *netns.Namespace
		own, other                           peer
		name, below, address, remote, allows string
	}{
		{w.Gateway.Namespace, w.known.inside, w.known.outside, "n", below, address, farAddress, allowed},
		{neighbour, w.known.outside, w.known.inside, "f", farBelow, farAddress, address, farAllowed},
	}
	for i := range ends {
		end := &ends[i]
		// Its control socket is a file that has the interface's name, for all namespaces.
		end.name = "wg" + name + end.name + w.ID()[strings.LastIndex(w.ID(), "-")+1:]
		run := func(words ...string) {
			w.t.Helper()
			w.must(quietly(end.at.Command(w.t.Context(), words[0], words[1:]...)))
		}
		run("ip", "link", "set", end.below, "mtu", belowMTU, "up")
		run("ip", "address", "add", end.address+"/30", "dev", end.below)
		_, err := w.runWireGuard(w.t.Context(), end.at, end.name, "private-key", end.own.private, "listen-port", port, "peer", end.other.public,
			"allowed-ips", end.allows, "endpoint", end.remote+":"+port)
		w.must(err)
		run("ip", "link", "set", end.name, "mtu", "1500")
	}
	return ends[0].name, ends[1].name
}
