package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/bench/webload"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Web is sites that a device leads to hosts by the names that clients ask for. Both ends are programs with sockets, so
// there is no generator, and links are as they would be without one.
type Web struct {
	Hosts int // 0: none
	// Offloads says that links hand over aggregates with checksums to be computed, as the kernel's own do.
	Offloads bool
}

// WebPort is where sites are asked for, at the device and at their hosts.
const WebPort = 443

// Where sites are: all at WebAddress or at the device's own address, or each at an address for itself.
var (
	WebAddress  = netip.MustParseAddr("198.18.0.80")
	webApart    = netip.MustParseAddr("198.18.0.90")
	webFirst    = after(Sources.Addr(), 2)
	webStranger = netip.MustParseAddr("198.51.100.0") // RFC 5737: nobody is there
)

// Name returns the name that host i is asked for by.
func (w Web) Name(i int) string { return fmt.Sprintf("h%d.bench.example", i) }

// Host returns the address of host i inside.
func (w Web) Host(i int) netip.Addr { return after(webFirst, i) }

// Apart are addresses outside of the hosts, an address each, for devices that read no names.
func (w Web) Apart() trafficgen.DNAT {
	return trafficgen.DNAT{From: trafficgen.Addresses{First: webApart, Count: w.Hosts}, To: webFirst}
}

// Front is a Device that leads sites to their hosts.
type Front interface {
	// Front returns where host i is asked for.
	Front(i int) netip.Addr
}

// links are the options of its links.
func (w Web) links() []netns.VethOption {
	if w.Hosts == 0 {
		return nil
	}
	return []netns.VethOption{netns.TxChecksum(netns.BothEnds, w.Offloads)}
}

// serve brings up a device for sites, whose hosts serve before it looks for them.
func (b *Bed) serve(ctx context.Context, setup Setup) error {
	rig := b.Rig
	err := errors.Join(rig.Hosts(), rig.Device.Route("default", PublicNextHop.String()))
	for _, n := range []*netns.Namespace{rig.Inside, rig.Device, rig.Outside} {
		for key, value := range webSettings {
			err = errors.Join(err, n.SetSysctl(key, value))
		}
	}
	if err != nil {
		return err
	}
	if b.server, err = webload.Serve(rig.Inside.Do, WebPort); err != nil {
		return err
	}
	if err := b.DUT.up(ctx, rig, setup); err != nil {
		return errors.Join(err, b.server.Close())
	}
	return nil
}

// webSettings give proxies, clients and hosts the queues and the ports that busy servers are given.
var webSettings = map[string]string{
	"net/core/somaxconn": "4096", "net/ipv4/tcp_max_syn_backlog": "4096", "net/ipv4/ip_local_port_range": "1024 65535",
}

// WebClient asks for all sites of the bed's device, from many addresses outside.
func (b *Bed) WebClient() *webload.Client {
	w := b.DUT.Setup.Web
	c := &webload.Client{Do: b.Rig.Outside.Do}
	for i := range w.Hosts {
		at := netip.AddrPortFrom(b.DUT.Device.(Front).Front(i), WebPort)
		c.Sites = append(c.Sites, webload.Site{Name: w.Name(i), At: at, Host: w.Host(i)})
	}
	a := Destinations.Addr().As4()
	for i := range webClients {
		c.Sources = append(c.Sources, netip.AddrFrom4([4]byte{a[0], a[1], byte(i + 1), 1}))
	}
	return c
}

// webClients is how many addresses clients have, each in a network of its own.
const webClients = 64

// FloodWeb sends SYNs at a rate for a site, each in another stranger's name.
func (b *Bed) FloodWeb(rate float64) (*webload.Flood, error) {
	r := b.Rig
	frames := webload.SYNs(r.Responder.MAC, r.Responder.Device, webStranger, netip.AddrPortFrom(b.DUT.Device.(Front).Front(0), WebPort))
	return webload.StartFlood(r.Outside.Do, r.Responder.Index, frames, rate)
}

// Undisturbed wants other machines to leave all CPUs to this one while f runs.
func (b *Bed) Undisturbed(f func() error) error {
	w := stealWatch{}
	for cpu := range runtime.NumCPU() {
		w.cpus = append(w.cpus, cpu)
	}
	w.begin()
	err := f()
	w.end()
	if !b.Tester.bench.Smoke {
		b.Gates.Require("steal", w.share() <= mostStolen, "%.0f %% of a CPU's time was stolen", 100*w.share())
	}
	return err
}
