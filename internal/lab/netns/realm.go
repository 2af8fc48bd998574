package netns

import (
	"errors"
	"fmt"
	"net/netip"
)

// Options says what NewRealm lays. The zero value is a gateway and its router.
type Options struct {
	Prefix string // of the lab; "realm" without it
	Keep   bool   // see Keep

	Hosts         int  // private hosts behind each gateway, 0..1000
	Clients       int  // on the gateway's public network, 0..100
	RemoteClients int  // behind the router, each in a /24 of its own, 0..200
	Servers       int  // behind the router, 0..40
	Resolver      bool // behind the router, beside the servers

	Gateways          int // 1 (also for 0) or 2
	PublicInterfaces  int // of each gateway, 1 (also for 0) .. 4
	PrivateInterfaces int // of each gateway, 1 (also for 0) .. 4

	// Link changes the links of the gateways' interfaces, whose EndA is the
	// gateway. Without it receive offload is on at EndB only, and no end hands
	// over unfinished checksums.
	Link []VethOption
	// Hosts and clients join switches over links of their own. HostLink
	// changes those; EndA is the host.
	HostLink []VethOption
	// IPv6 leaves IPv6 on everywhere, with link-local addresses only.
	IPv6 bool
}

// Node is a namespace with one interface, eth0.
type Node struct {
	*Namespace
	IP netip.Addr // of eth0
}

// Gateway is a namespace for a gateway to run in. Nothing runs there yet, and
// none of Outbound and Pool is on an interface; they are addresses of the first
// public network that nobody else has.
type Gateway struct {
	*Namespace
	Public, Private []string     // interfaces: eth0, eth1, ...
	PublicAddress   netip.Addr   // on the first public interface
	PublicAddresses []netip.Addr // one per public interface
	PrivateAddress  netip.Addr   // on the first private interface
	Outbound        netip.Addr
	Pool            netip.Prefix // 16 addresses
	Switch          *Namespace   // between the gateway and its hosts
	Hosts           []Node
}

// Realm is the standard topology. N counts from 1, p, q and g from 0:
//
//	hostN 10.q.0.99+N -- switch -- eth1+q [gateway] eth0 -- router -- serverN 198.51.100.9+N
//	                   10.q.0.1/16     198.18.p.1/24  |     \_ resolver 198.51.100.53
//	                                                  |      \_ remoteN 198.19.N.10
//	                                 clientN 198.18.p.127+N
//
// The router, 198.18.p.254, is also the switch of the public networks. Hosts
// and clients spread over the networks in turn. A second gateway has public
// addresses that are 64 higher, and a private realm with the same addresses.
type Realm struct {
	*Lab
	Gateways      []*Gateway
	Gateway       *Gateway // the first
	Router        *Namespace
	Resolver      *Node // nil without one
	Clients       []Node
	RemoteClients []Node
	Servers       []Node
}

// Hosts returns the private hosts of the first gateway.
func (r *Realm) Hosts() []Node { return r.Gateway.Hosts }

// NewRealm lays the topology; when it returns, all links carry packets.
func NewRealm(o Options) (*Realm, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	var options []Option
	if o.Keep {
		options = append(options, Keep())
	}
	l, err := New(o.Prefix, options...)
	if err != nil {
		return nil, err
	}
	b := &builder{Options: o, realm: &Realm{Lab: l}}
	if err := b.build(); err != nil {
		return nil, errors.Join(fmt.Errorf("lay the realm: %w", err), l.Close())
	}
	return b.realm, nil
}

// complete fills in defaults and checks ranges.
func (o *Options) complete() error {
	if o.Prefix == "" {
		o.Prefix = "realm"
	}
	for _, n := range []*int{&o.Gateways, &o.PublicInterfaces, &o.PrivateInterfaces} {
		if *n == 0 {
			*n = 1
		}
	}
	for _, limit := range []struct {
		what         string
		value, least int
		most         int
	}{
		{"hosts", o.Hosts, 0, 1000},
		{"clients", o.Clients, 0, 100},
		{"remote clients", o.RemoteClients, 0, 200},
		{"servers", o.Servers, 0, 40},
		{"gateways", o.Gateways, 1, 2},
		{"public interfaces", o.PublicInterfaces, 1, 4},
		{"private interfaces", o.PrivateInterfaces, 1, 4},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			return fmt.Errorf("%d %s: use %d to %d", limit.value, limit.what, limit.least, limit.most)
		}
	}
	return nil
}
