package datapath

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/netdev"
)

// Locators of two edges whose networks are the same.
var locators = [2]netip.Addr{netip.MustParseAddr("203.0.113.8"), netip.MustParseAddr("203.0.113.9")}

// twoEdges are two gateways with the same private network, and hostA behind either. Each is the other's proxyA.
type twoEdges [2]*gateway

func newTwoEdges(t *testing.T, mode datapath.Mode, link ...netns.VethOption) twoEdges {
	t.Helper()
	var e twoEdges
	for i := range e {
		e[i] = newGateway(t, attachedAt(mode), publicLink(link...), func(s *setup) { s.addresses = []string{locators[i].String() + "/32"} })
	}
	check(t, e[0].lab.Veth(e[0].outside, "peer", e[1].outside, "peer"))
	for i, g := range e {
		a := pactOf(1, hostA, proxyA)
		a.Own, a.Peer = a.Own+uint32(i)<<16, a.Own+uint32(1-i)<<16
		a.Ways = []datapath.Way{{Protocol: model.TCP, Port: 80, To: 8080}, {Protocol: model.UDP, Port: 5000, To: 5000}}
		number := func(of int) uint32 { return uint32(0xabc000 + 0x1000*of + int(edgeLink.Number)) }
		g.in(func() error {
			check(t, g.data.SetEdges(datapath.Edges{Proxy: proxies, Address: locators[i], Port: tunnel.GENEVEPort}))
			check(t, g.data.PutEdgeLink(datapath.EdgeLink{
				Number: edgeLink.Number, Here: number(i), There: number(1 - i), Local: locators[i], Remote: locators[1-i], MTU: 1452,
			}))
			keys := [2][16]byte{keyOut, keyIn} // of each gateway's packets
			check(t, g.data.PutEdgeKey(edgeLink.Number, true, 1, keys[i]))
			check(t, g.data.PutEdgeKey(edgeLink.Number, false, 1, keys[1-i]))
			check(t, g.data.PutPact(a))
			return g.data.Refresh()
		})
		wired(t, g.outside, "eth0", packets.RouterMAC, router.String()+"/24")
		wired(t, g.inside, "eth0", packets.HostMAC, hostA.String()+"/16")
		check(t, g.inside.Route("default", privateAddress.String()))
		check(t, g.outside.SetSysctl("net/ipv4/ip_forward", "1"))
		check(t, g.outside.Address("peer", fmt.Sprintf("192.0.2.%d/24", 1+i)))
		check(t, g.outside.Up("peer"))
		check(t, g.outside.Route(locators[i].String()+"/32", publicAddress.String()))
	}
	for i, g := range e {
		check(t, g.outside.Route(locators[1-i].String()+"/32", fmt.Sprintf("192.0.2.%d", 2-i)))
	}
	return e
}

// wired gives an interface the link address that its neighbours know, and an address.
func wired(t *testing.T, n *netns.Namespace, name string, mac packets.MAC, address string) {
	t.Helper()
	check(t, n.Do(func() error {
		iface, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		return netlink.LinkSetHardwareAddr(iface, net.HardwareAddr(mac[:]))
	}))
	check(t, n.Address(name, address))
}

// Programs of two hosts with the same address talk by each other's proxy address: transfers in both directions, with what
// interfaces leave to each other, and datagrams in fragments.
func TestTwoEdges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode datapath.Mode
		link []netns.VethOption
	}{
		"xdp":                {datapath.XDP, nil},
		"tcx":                {datapath.TCX, nil},
		"tcx, sums are left": {datapath.TCX, []netns.VethOption{netns.TxChecksum(netns.BothEnds, true)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTwoEdges(t, c.mode, c.link...)
			if len(c.link) > 0 {
				for _, g := range e {
					check(t, g.inside.Do(func() error { return netdev.SetOffload("eth0", netdev.TxChecksum, true) }))
					check(t, g.namespace.Do(func() error { return netdev.SetOffload("eth1", netdev.TxChecksum, true) }))
				}
			}
			for i := range e {
				e.transfer(t, e[i], e[1-i], 4<<20)
				e.datagrams(t, e[i], e[1-i])
			}
			for _, g := range e {
				for reason, n := range g.counters() { // kernels learn what fits by drop_too_big
					if n > 0 && reason.IsDrop() && reason != "drop_too_big" {
						t.Errorf("%d dropped: %s", n, reason)
					}
				}
			}
		})
	}
}

const transferTime = 20 * time.Second

// transfer sends octets both ways on one connection.
func (e *twoEdges) transfer(t *testing.T, from, to *gateway, octets int) {
	t.Helper()
	listener := must(to.inside.Listen("tcp", "10.0.0.100:8080"))(t)
	defer listener.Close()
	sent := make([]byte, octets)
	for i := range sent {
		sent[i] = byte(rand.Uint32())
	}
	failed := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(transferTime))
			if peer := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr(); peer != proxyA {
				err = fmt.Errorf("its client is %s", peer)
			}
			var got []byte
			if got, _ = io.ReadAll(conn); err == nil && !bytes.Equal(got, sent) {
				err = fmt.Errorf("%d octets came, and not what was sent", len(got))
			}
			if err == nil {
				_, err = conn.Write(got)
			}
			_ = conn.Close()
		}
		failed <- err
	}()
	ctx, stop := context.WithTimeout(t.Context(), transferTime)
	defer stop()
	conn := must(from.inside.DialContext(ctx, "tcp", proxyA.String()+":80"))(t)
	defer conn.Close()
	check(t, conn.SetDeadline(time.Now().Add(transferTime)))
	must(conn.Write(sent))(t)
	check(t, conn.(*net.TCPConn).CloseWrite())
	back := must(io.ReadAll(conn))(t)
	check(t, <-failed)
	if !bytes.Equal(back, sent) {
		t.Fatalf("%d of %d octets came back", len(back), octets)
	}
}

// datagrams asks, and is answered.
func (e *twoEdges) datagrams(t *testing.T, from, to *gateway) {
	t.Helper()
	server := must(to.inside.ListenPacket("udp", "10.0.0.100:5000"))(t)
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), transferTime)
	defer stop()
	conn := must(from.inside.DialContext(ctx, "udp", proxyA.String()+":5000"))(t)
	defer conn.Close()
	buffer := make([]byte, 1<<16)
	for _, octets := range []int{0, 1, 1000, 1400, 1424, 1425, 4000, 9001} {
		asked := bytes.Repeat([]byte{byte(octets)}, octets)
		got, err := -1, error(nil)
		for try := 0; try < 20 && got < 0; try++ { // either kernel is told first what fits
			if _, err = conn.Write(asked); err != nil {
				continue
			}
			check(t, server.SetReadDeadline(time.Now().Add(time.Second)))
			check(t, conn.SetReadDeadline(time.Now().Add(time.Second)))
			n, client, failed := server.ReadFrom(buffer)
			if err = failed; err != nil {
				continue
			}
			if _, err = server.WriteTo(buffer[:n], client); err != nil {
				continue
			}
			if n, err = conn.Read(buffer); err == nil {
				got = n
			}
		}
		check(t, err)
		if got != octets || !bytes.Equal(buffer[:got], asked) {
			t.Fatalf("a datagram of %d octets came back as one of %d", octets, got)
		}
	}
}
