package config

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	ban "github.com/realmgate/realmgate/internal/guard/ban/settings"
	geo "github.com/realmgate/realmgate/internal/guard/geo/settings"
	honeypot "github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	"github.com/realmgate/realmgate/internal/model"
	allocation "github.com/realmgate/realmgate/internal/names/allocation/settings"
	realm "github.com/realmgate/realmgate/internal/names/realm/settings"
	server "github.com/realmgate/realmgate/internal/names/server/settings"
	outbound "github.com/realmgate/realmgate/internal/outbound/settings"
	plane "github.com/realmgate/realmgate/internal/plane/settings"
	"github.com/realmgate/realmgate/internal/schema"
	web "github.com/realmgate/realmgate/internal/web/settings"
)

// Every rejected configuration is a file. Its first line holds the errors it
// must give, all of them and no other: "# want: LINE: words | LINE: words".
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yml")
	if err != nil || len(files) < 100 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".bad.yml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(data), "\n")
			expected, ok := strings.CutPrefix(first, "# want: ")
			if !ok {
				t.Fatalf("the first line %q does not say what is wanted", first)
			}
			c, err := load(file)
			if err == nil {
				t.Fatalf("accepted: %+v", c)
			}
			var found schema.Errors
			if !errors.As(err, &found) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			wants := strings.Split(expected, " | ")
			if len(found) != len(wants) {
				t.Fatalf("%d errors, want %d:\n%v", len(found), len(wants), err)
			}
			for i, want := range wants {
				line, words, _ := strings.Cut(want, ": ")
				got := found[i].Error()
				if !strings.HasPrefix(got, file+":"+line+": ") || !strings.Contains(got, words) {
					t.Errorf("error %d:\n got %s\nwant %s:%s", i, got, file, want)
				}
				if strings.HasSuffix(got, ": ") || strings.ContainsAny(got, "\n\r") {
					t.Errorf("not one finished line: %q", got)
				}
			}
		})
	}
}

func TestGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".good.yml"), func(t *testing.T) {
			c, err := load(file)
			if err != nil {
				t.Fatal(err)
			}
			checkRoundTrip(t, c)
		})
	}
}

func TestFullFile(t *testing.T) {
	got, err := load("testdata/full.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Interfaces: plane.Interfaces{Public: []string{"eth0", "eth2.100"}, Private: []string{"eth1", "br-lan"}},
		Realm: realm.Realm{Zones: []realm.Zone{{Name: "foo.example."}, {
			Name: "sub.foo.example.", File: "sub.zone", Text: "@ TXT \"fixed\"\n",
			Secondaries: []realm.Secondary{{Address: netip.MustParseAddrPort("192.0.2.53:5300"), Key: "copy."}}, ACME: []model.Name{"acme.", "copy."},
		}, {Name: "bar.example."}}, Nameserver: "foo.example."},
		DNS: server.DNS{
			Public: netip.MustParseAddrPort("198.18.0.1:5300"), Private: netip.MustParseAddrPort("10.0.0.1:5301"),
			Upstream: []netip.AddrPort{
				netip.MustParseAddrPort("198.51.100.53:53"), netip.MustParseAddrPort("127.0.0.1:5353"), netip.MustParseAddrPort("10.0.0.1:54"),
			},
			Verify: server.VerifyNone, WaitLimit: 64, RebindDomainOK: []model.Name{"plex.direct.", "corp.example."}, ClientSubnet: []netip.Prefix{netip.MustParsePrefix("192.0.2.53/32"), netip.MustParsePrefix("203.0.113.0/24")},
			Keys: []server.Key{{Name: "copy.", Algorithm: "hmac-sha512", Secret: "c2VjcmV0IG9mIHR3ZW50eSBvY3RldHM="}, {Name: "acme.", Algorithm: "hmac-sha256", Secret: "YW5vdGhlciBvbmUgb2YgdHdlbnR5Li4="}},
		},
		Pool: allocation.Pool{
			Addresses: addresses("198.18.0.48", "198.18.0.32", "198.18.0.33", "198.18.0.40", "198.18.0.41", "198.18.0.42"),
			Order:     allocation.OrderCircular, ReservationTimeout: 500 * time.Millisecond, Rest: 90 * time.Minute, Wait: 1500 * time.Millisecond,
			Bands: []allocation.Band{{Load: 0.25, Host: 0.1}, {Load: 0.9, Service: 0.5, Host: 1}}, Reserve: 0.25,
			Quotas: allocation.Quotas{Client: 1, Resolver: 2, Host: 3, Service: 4, Total: 5, HalfOpen: 6, HalfOpenPerHost: 7, ClientSessions: 8},
		},
		Protection: Protection{Fences: geo.Fences{GeoTable: "/var/lib/realmgate/geo.table"}, Honeypot: honeypot.Honeypot{BanTime: time.Hour}},
		Bans:       ban.Bans{Factor: 2, Cap: 168 * time.Hour, Memory: 24 * time.Hour},
		Outbound: outbound.Outbound{
			Addresses: addresses("198.18.0.2", "198.18.0.8", "198.18.0.9", "198.18.0.10", "198.18.0.11"),
			Filtering: model.EndpointIndependent, Except: []netip.Prefix{netip.MustParsePrefix("10.98.0.0/15"), netip.MustParsePrefix("203.0.113.7/32")},
		},
		Web: web.Web{Addresses: addresses("198.18.0.81", "198.18.0.80"), TTL: 90 * time.Second, Hello: 500 * time.Millisecond, QUIC: true},
		Tables: plane.Tables{Timeouts: model.Timeouts{120 * time.Hour, time.Second, 2 * time.Second, 3 * time.Minute, 20 * time.Second, 15 * time.Second, 30 * time.Second, 15 * time.Minute},
			Limits:   plane.Limits{HostSessions: 100, HostPorts: plane.ProtocolLimits{UDP: 1, TCP: 2, ICMP: 3}, HostRate: 4, RemoteSessions: 5, RemoteRate: 6, BindingSessions: 7, MappingSessions: 8},
			Capacity: 1024, IPv6: plane.IPv6Forward, MSS: 1452},
		Hosts: realm.Hosts{
			{Name: "hosta.foo.example.", Address: netip.MustParseAddr("10.0.0.100"), Open: ports("tcp/22", "icmp"), Services: []realm.Service{
				{Names: []model.Name{"www.hosta.foo.example."}, Ports: ports("tcp/80:8080"), Web: true},
				{Names: []model.Name{"blog.hosta.foo.example."}, Ports: ports("tcp/80:8080"), NoWeb: true},
				{Names: []model.Name{"_dns.sub.foo.example."}, Ports: ports("udp/80")},
				{
					Names: []model.Name{"shop.foo.example.", "sub.foo.example.", "*.shop.foo.example."},
					Ports: ports("tcp/80:8081", "udp/443:8443", "tcp/50000", "tcp/50001", "tcp/50002", "icmp"), HTTPS: &realm.HTTPS{Port: 80, ALPN: []string{"h2", "h3"}},
				},
				{Names: []model.Name{"*.a.foo.example."}, Ports: ports("tcp/25")},
				{Names: []model.Name{"b.foo.example."}, Ports: ports("udp/25:26")},
			}},
			{Name: "bar.example.", Address: netip.MustParseAddr("10.0.0.101"), OneToOne: netip.MustParseAddr("198.18.0.20"), Open: ports("all")},
			{Name: "hostc.foo.example.", Address: netip.MustParseAddr("10.0.0.102"), Open: ports("all")},
		},
	}
	var defaults Config
	defaults.drafts(nil)
	want.Edges = defaults.Edges // its keys have a file of their own
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestDefaults(t *testing.T) {
	got, err := load("testdata/least.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	var want Config
	want.drafts(nil)
	want.Limits.HostSessions, want.Limits.RemoteSessions, want.Limits.BindingSessions = 62_500, 31_250, 125_000
	want.Interfaces = plane.Interfaces{Public: []string{"eth0"}, Private: []string{"eth1"}}
	want.Realm = realm.Realm{Zones: []realm.Zone{{Name: "foo.example."}}, Nameserver: "ns.elsewhere.example."}
	want.DNS.Public, want.DNS.Private = netip.MustParseAddrPort("198.18.0.1:53"), netip.MustParseAddrPort("10.0.0.1:53")
	want.Pool.Addresses = addresses("198.18.0.32")
	if !reflect.DeepEqual(got, &want) {
		t.Errorf("\n got %+v\nwant %+v", got, &want)
	}
}

func TestLargestPoolIsExpandedInOrder(t *testing.T) {
	c, err := load("testdata/largest.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	pool := c.Pool.Addresses
	if len(pool) != 65536 || pool[0] != netip.MustParseAddr("198.20.0.0") || pool[65535] != netip.MustParseAddr("198.20.255.255") {
		t.Errorf("%d addresses from %s to %s", len(pool), pool[0], pool[len(pool)-1])
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "absent.yaml"), t.TempDir()} {
		if _, err := load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("load(%s): %v", path, err)
		}
	}
}

func TestEmptyAndHugeFiles(t *testing.T) {
	for name, data := range map[string][]byte{"empty": nil, "larger than": make([]byte, maxFile+1)} {
		_, err := Parse("x.yaml", data)
		if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:1: the file is "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A broken file must not flood the terminal.
func TestErrorsAreBounded(t *testing.T) {
	data := "hosts:\n" + strings.Repeat("- "+strings.Repeat("x", 5000)+"\n", 500)
	_, err := Parse("x.yaml", []byte(data))
	var found schema.Errors
	if !errors.As(err, &found) || len(found) != schema.MaxErrors+1 {
		t.Fatalf("%d errors, want %d", len(found), schema.MaxErrors+1)
	}
	if last := found[schema.MaxErrors].Message; last != "more than 100 errors: the rest is not shown" {
		t.Errorf("the last error is %q", last)
	}
	for _, e := range found {
		if len(e.Message) > schema.MaxMessage+len("…") {
			t.Errorf("a message of %d bytes", len(e.Message))
		}
	}
}

func addresses(list ...string) (parsed []netip.Addr) {
	for _, text := range list {
		parsed = append(parsed, netip.MustParseAddr(text))
	}
	return parsed
}

func ports(list ...string) (parsed []model.Port) {
	for _, text := range list {
		port, err := model.ParsePort(text)
		if err != nil {
			panic(err)
		}
		parsed = append(parsed, port)
	}
	return parsed
}

func load(path string) (*Config, error) {
	d, err := Read(path)
	if err != nil {
		return nil, err
	}
	return d.Config, nil
}
