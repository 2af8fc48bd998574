package netns

import (
	"errors"
	"fmt"
	"net/netip"
)

// builder lays a Realm, from the router outwards. Its first error stops it.
type builder struct {
	Options
	realm      *Realm
	namespaces []*Namespace
}

func (b *builder) build() error {
	if err := b.router(); err != nil {
		return err
	}
	for g := range b.Gateways {
		if err := b.gateway(g); err != nil {
			return err
		}
	}
	b.realm.Gateway = b.realm.Gateways[0]
	if err := errors.Join(b.clients(), b.servers()); err != nil {
		return err
	}
	for _, n := range b.namespaces {
		if err := n.WaitUp(); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) namespace(name string) (*Namespace, error) {
	n, err := b.realm.Namespace(name)
	if err == nil && b.IPv6 {
		err = n.EnableIPv6(true)
	}
	b.namespaces = append(b.namespaces, n)
	return n, err
}

// router makes the router and the switches in it: public0, ... towards the
// gateways, servers, and remote where there is somebody behind them.
func (b *builder) router() error {
	router, err := b.namespace("router")
	if err != nil {
		return err
	}
	b.realm.Router = router
	err = router.SetSysctl("net/ipv4/ip_forward", "1")
	for p := range b.PublicInterfaces {
		bridge := fmt.Sprintf("public%d", p)
		err = errors.Join(err, router.Bridge(bridge), router.Address(bridge, fmt.Sprintf("198.18.%d.254/24", p)))
	}
	if b.Servers > 0 || b.Resolver {
		err = errors.Join(err, router.Bridge("servers"), router.Address("servers", "198.51.100.1/24"))
	}
	if b.RemoteClients > 0 {
		err = errors.Join(err, router.Bridge("remote"))
	}
	for i := range b.RemoteClients {
		err = errors.Join(err, router.Address("remote", fmt.Sprintf("198.19.%d.1/24", i+1)))
	}
	return err
}

func (b *builder) gateway(g int) error {
	name, prefix := "gateway", ""
	if g > 0 {
		name = fmt.Sprintf("gateway%d", g+1)
		prefix = name + "-"
	}
	n, err := b.namespace(name)
	if err != nil {
		return err
	}
	public := func(p, last int) netip.Addr { return netip.AddrFrom4([4]byte{198, 18, byte(p), byte(last + 64*g)}) }
	gateway := &Gateway{
		Namespace:      n,
		PublicAddress:  public(0, 1),
		PrivateAddress: netip.MustParseAddr("10.0.0.1"),
		Outbound:       public(0, 2),
		Pool:           netip.PrefixFrom(public(0, 32), 28),
	}
	b.realm.Gateways = append(b.realm.Gateways, gateway)
	for p := range b.PublicInterfaces {
		ifname, far := fmt.Sprintf("eth%d", p), fmt.Sprintf("%s-%d", name, p)
		address := public(p, 1)
		err = errors.Join(err, b.gatewayLink(gateway, ifname, b.realm.Router, far, fmt.Sprintf("public%d", p)),
			n.Address(ifname, address.String()+"/24"))
		gateway.Public = append(gateway.Public, ifname)
		gateway.PublicAddresses = append(gateway.PublicAddresses, address)
	}
	if err = errors.Join(err, n.Route("default", "198.18.0.254")); err != nil {
		return err
	}
	return b.private(gateway, prefix)
}

// private makes the private networks of a gateway and its hosts.
func (b *builder) private(gateway *Gateway, prefix string) error {
	hub, err := b.namespace(prefix + "switch")
	if err != nil {
		return err
	}
	gateway.Switch = hub
	for q := range b.PrivateInterfaces {
		ifname, bridge := fmt.Sprintf("eth%d", b.PublicInterfaces+q), fmt.Sprintf("private%d", q)
		err = errors.Join(err, hub.Bridge(bridge), b.gatewayLink(gateway, ifname, hub, fmt.Sprintf("gateway%d", q), bridge),
			gateway.Address(ifname, fmt.Sprintf("10.%d.0.1/16", q)))
		gateway.Private = append(gateway.Private, ifname)
	}
	if err != nil {
		return err
	}
	for i := range b.Hosts {
		q, at := i%b.PrivateInterfaces, 100+i/b.PrivateInterfaces
		address := netip.AddrFrom4([4]byte{10, byte(q), byte(at >> 8), byte(at)})
		host, err := b.node(fmt.Sprintf("%shost%d", prefix, i+1), hub, fmt.Sprintf("private%d", q),
			netip.PrefixFrom(address, 16), fmt.Sprintf("10.%d.0.1", q))
		if err != nil {
			return err
		}
		gateway.Hosts = append(gateway.Hosts, host)
	}
	return nil
}

func (b *builder) gatewayLink(gateway *Gateway, ifname string, far *Namespace, farIf, bridge string) error {
	// As a network card would have it, the kernel joins nothing before the
	// gateway's programs; the far end needs GRO to receive what they redirect.
	options := append([]VethOption{GRO(EndA, false)}, b.Link...)
	if err := b.realm.Veth(gateway.Namespace, ifname, far, farIf, options...); err != nil {
		return err
	}
	return errors.Join(gateway.Up(ifname), far.Join(bridge, farIf))
}

func (b *builder) clients() error {
	for i := range b.Clients {
		p, at := i%b.PublicInterfaces, 128+i/b.PublicInterfaces
		address := netip.AddrFrom4([4]byte{198, 18, byte(p), byte(at)})
		client, err := b.node(fmt.Sprintf("client%d", i+1), b.realm.Router, fmt.Sprintf("public%d", p),
			netip.PrefixFrom(address, 24), fmt.Sprintf("198.18.%d.254", p))
		if err != nil {
			return err
		}
		b.realm.Clients = append(b.realm.Clients, client)
	}
	for i := range b.RemoteClients {
		address := netip.AddrFrom4([4]byte{198, 19, byte(i + 1), 10})
		client, err := b.node(fmt.Sprintf("remote%d", i+1), b.realm.Router, "remote",
			netip.PrefixFrom(address, 24), fmt.Sprintf("198.19.%d.1", i+1))
		if err != nil {
			return err
		}
		b.realm.RemoteClients = append(b.realm.RemoteClients, client)
	}
	return nil
}

func (b *builder) servers() error {
	server := func(name string, last byte) (Node, error) {
		address := netip.AddrFrom4([4]byte{198, 51, 100, last})
		return b.node(name, b.realm.Router, "servers", netip.PrefixFrom(address, 24), "198.51.100.1")
	}
	for i := range b.Servers {
		node, err := server(fmt.Sprintf("server%d", i+1), byte(10+i))
		if err != nil {
			return err
		}
		b.realm.Servers = append(b.realm.Servers, node)
	}
	if !b.Resolver {
		return nil
	}
	node, err := server("resolver", 53)
	b.realm.Resolver = &node
	return err
}

// node makes a namespace with eth0, joined to a bridge of hub by a port that
// has the node's name.
func (b *builder) node(name string, hub *Namespace, bridge string, prefix netip.Prefix, gateway string) (Node, error) {
	n, err := b.namespace(name)
	if err != nil {
		return Node{}, err
	}
	farIf := portName(name)
	if err := b.realm.Veth(n, "eth0", hub, farIf, b.HostLink...); err != nil {
		return Node{}, err
	}
	err = errors.Join(hub.Join(bridge, farIf), n.Address("eth0", prefix.String()), n.Up("eth0"), n.Route("default", gateway))
	return Node{Namespace: n, IP: prefix.Addr()}, err
}

// portName shortens a node's name to an interface name, of at most 15 octets,
// by its last ones: they hold the number.
func portName(name string) string { return name[max(0, len(name)-15):] }
