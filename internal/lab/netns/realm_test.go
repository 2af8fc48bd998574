package netns

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func newRealm(t *testing.T, o Options) *Realm {
	t.Helper()
	r, err := NewRealm(o)
	if r == nil {
		r = &Realm{}
	}
	closeAfter(t, r.Lab, err)
	return r
}

func TestRealmCarriesPackets(t *testing.T) {
	r := newRealm(t, Options{Hosts: 50, Clients: 4, RemoteClients: 3, Servers: 2, Resolver: true})
	for _, host := range r.Hosts() {
		exchangeTo(t, r.Gateway.Namespace, host.Namespace, host.IP)
		exchangeTo(t, host.Namespace, r.Gateway.Namespace, r.Gateway.PrivateAddress)
	}
	exchangeTo(t, r.Hosts()[0].Namespace, r.Hosts()[49].Namespace, r.Hosts()[49].IP)
	for _, node := range append(append(r.Clients, r.RemoteClients...), r.Servers...) {
		exchangeTo(t, node.Namespace, r.Gateway.Namespace, r.Gateway.PublicAddress)
		exchangeTo(t, r.Gateway.Namespace, node.Namespace, node.IP)
	}
	exchangeTo(t, r.Clients[0].Namespace, r.Servers[1].Namespace, r.Servers[1].IP)
	exchangeTo(t, r.RemoteClients[2].Namespace, r.Resolver.Namespace, r.Resolver.IP)
	if got := r.Hosts()[0].IP; got != netip.MustParseAddr("10.0.0.100") {
		t.Errorf("the first host is %s", got)
	}
	// Nothing translates yet, and the gateway forwards nothing by itself.
	if forwards, err := r.Gateway.Sysctl("net/ipv4/ip_forward"); err != nil || forwards != "0" {
		t.Errorf("the gateway's ip_forward is %q: %v", forwards, err)
	}
	host, server := r.Hosts()[0], r.Servers[0]
	connection, err := host.DialContext(t.Context(), "udp4", server.IP.String()+":7")
	if err != nil {
		t.Errorf("a host has no route outside: %v", err)
	} else {
		connection.Close()
	}
}

func TestRealmWithTwoGatewaysAndManyInterfaces(t *testing.T) {
	r := newRealm(t, Options{Prefix: "two", Gateways: 2, PublicInterfaces: 2, PrivateInterfaces: 3, Hosts: 4, Clients: 3})
	for g, gateway := range r.Gateways {
		if got := strings.Join(append(gateway.Public, gateway.Private...), " "); got != "eth0 eth1 eth2 eth3 eth4" {
			t.Errorf("gateway %d has %s", g, got)
		}
		for i, host := range gateway.Hosts {
			exchangeTo(t, gateway.Namespace, host.Namespace, host.IP)
			if want := r.Gateways[0].Hosts[i].IP; host.IP != want {
				t.Errorf("gateway %d: host %d is %s, want %s as behind the other", g, i, host.IP, want)
			}
		}
		for i, client := range r.Clients {
			exchangeTo(t, client.Namespace, gateway.Namespace, gateway.PublicAddresses[i%2])
		}
		for _, address := range []netip.Addr{gateway.PublicAddress, gateway.Outbound, gateway.Pool.Addr()} {
			for _, other := range r.Gateways {
				if other != gateway && (other.PublicAddress == address || other.Outbound == address || other.Pool.Contains(address)) {
					t.Errorf("both gateways have %s", address)
				}
			}
		}
	}
	if want := netip.MustParseAddr("10.2.0.100"); r.Hosts()[2].IP != want {
		t.Errorf("the third host is %s, want %s", r.Hosts()[2].IP, want)
	}
}

func TestRealmWithIPv6AndLinkOptions(t *testing.T) {
	r := newRealm(t, Options{Hosts: 1, IPv6: true, Link: []VethOption{MTU(1400)}, HostLink: []VethOption{MTU(1400)}})
	host := r.Hosts()[0]
	if err := r.Gateway.Address(r.Gateway.Private[0], "2001:db8::1/64"); err != nil {
		t.Fatal(err)
	}
	if err := host.Address("eth0", "2001:db8::2/64"); err != nil {
		t.Fatal(err)
	}
	server, err := host.ListenPacket("udp6", "[2001:db8::2]:7")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := r.Gateway.DialContext(t.Context(), "udp6", "[2001:db8::2]:7")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("six")); err != nil {
		t.Fatal(err)
	}
	_ = server.SetDeadline(time.Now().Add(5 * time.Second))
	buffer := make([]byte, 10)
	if n, _, err := server.ReadFrom(buffer); err != nil || string(buffer[:n]) != "six" {
		t.Errorf("got %q, %v", buffer[:n], err)
	}
}

func TestRealmOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Hosts: -1}, {Hosts: 1001}, {Gateways: 3}, {Servers: 41}, {PrivateInterfaces: 5}} {
		if _, err := NewRealm(o); err == nil || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
