package config

import (
	"slices"
	"testing"
	"time"
)

// Which names are web names, by their ports or by what the service says.
func TestWebNames(t *testing.T) {
	c, err := load("testdata/web.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	if c.Web.TTL != 5*time.Minute || c.Web.Hello != 3*time.Second || c.Web.QUIC {
		t.Errorf("%+v", c.Web)
	}
	var web []string
	for _, h := range c.Hosts {
		if h.Web {
			web = append(web, h.Name.String())
		}
		for _, s := range h.Services {
			if s.Web {
				web = append(web, s.Names[0].String())
			}
		}
	}
	if want := []string{"a.foo.example.", "b.foo.example.", "c.foo.example."}; !slices.Equal(web, want) {
		t.Errorf("%v, want %v", web, want)
	}
	if tcp, udp := c.WebPorts(); !slices.Equal(tcp, []uint16{80, 443, 8443}) || udp != nil {
		t.Errorf("ports %v and %v", tcp, udp)
	}
	c.Hosts = nil
	if tcp, udp := c.WebPorts(); tcp != nil || udp != nil {
		t.Errorf("nobody has ports %v and %v", tcp, udp)
	}
}

// Names of hosts that register themselves are web names alike, and their ports are the web's.
func TestWebNamesOfRegisteredHosts(t *testing.T) {
	c, err := load("testdata/dynamic-web.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	var web []string
	for _, e := range c.Dynamic {
		for _, s := range e.Services {
			if s.Web {
				web = append(web, s.Label+"."+e.Zone.String())
			}
		}
	}
	if want := []string{".home.example.", "other.home.example.", "admin.home.example."}; !slices.Equal(web, want) {
		t.Errorf("%v, want %v", web, want)
	}
	if tcp, udp := c.WebPorts(); !slices.Equal(tcp, []uint16{80, 443, 8443}) || udp != nil {
		t.Errorf("ports %v and %v", tcp, udp)
	}
	if e := c.Dynamic[0]; e.Ways() != 7 || e.LentWays() != 3 || len(e.Lent()) != 2 {
		t.Errorf("%d ways, %d of them and %d services by the pool", e.Ways(), e.LentWays(), len(e.Lent()))
	}
}

// With QUIC a name with UDP is one, too.
func TestWebNamesOfQUIC(t *testing.T) {
	const text = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - {name: a.foo.example., address: 10.0.0.100, open: [tcp/443, udp/443]}
`
	for section, want := range map[string]bool{
		"": false, "web: {addresses: [198.18.0.80]}\n": false, "web: {addresses: [198.18.0.80], quic: true}\n": true,
	} {
		c, err := Parse("x.yaml", []byte(text+section))
		if err != nil {
			t.Fatal(err)
		}
		if _, udp := c.WebPorts(); c.Hosts[0].Web != want || slices.Equal(udp, []uint16{443}) != want {
			t.Errorf("%q: %v, %v", section, c.Hosts[0].Web, udp)
		}
	}
}
