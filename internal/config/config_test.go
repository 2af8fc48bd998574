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

	"github.com/realmgate/realmgate/internal/model"
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
			c, err := Load(file)
			if err == nil {
				t.Fatalf("accepted: %+v", c)
			}
			var found Errors
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
			c, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			checkRoundTrip(t, c)
		})
	}
}

func TestFullFile(t *testing.T) {
	got, err := Load("testdata/full.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	half, none := 500*time.Millisecond, time.Duration(0)
	want := &Config{
		Interfaces: Interfaces{Public: []string{"eth0", "eth2.100"}, Private: []string{"eth1", "br-lan"}},
		Realm:      Realm{Zones: []model.Name{"foo.example.", "sub.foo.example.", "bar.example."}, Nameserver: "foo.example."},
		DNS: DNS{
			Public: netip.MustParseAddrPort("198.18.0.1:5300"), Private: netip.MustParseAddrPort("10.0.0.1:5301"),
			Upstream: []netip.AddrPort{
				netip.MustParseAddrPort("198.51.100.53:53"), netip.MustParseAddrPort("127.0.0.1:5353"), netip.MustParseAddrPort("10.0.0.1:54"),
			},
			Verify: VerifyNone,
		},
		Pool: Pool{
			Addresses: addresses("198.18.0.48", "198.18.0.32", "198.18.0.33", "198.18.0.40", "198.18.0.41", "198.18.0.42"),
			Order:     OrderCircular, Offer: half, Claim: 90 * time.Second, Wait: 1500 * time.Millisecond,
			Quotas: Quotas{Client: 1, Resolver: 2, Host: 3, Service: 4, Total: 5, HalfOpen: 6, HalfOpenPerHost: 7},
		},
		Protection: Protection{GeoTable: "/var/lib/realmgate/geo.table", Honeypot: Honeypot{Ban: time.Hour}},
		Bans:       Bans{Factor: 2, Cap: 168 * time.Hour, Memory: 24 * time.Hour},
		Outbound: Outbound{
			Addresses: addresses("198.18.0.2", "198.18.0.8", "198.18.0.9", "198.18.0.10", "198.18.0.11"),
			Filtering: model.EndpointIndependent,
		},
		Timeouts: Timeouts{TCPEstablished: 120 * time.Hour, TCPTransitory: time.Second, UDP: 3 * time.Minute, ICMP: 30 * time.Second},
		Capacity: 1024, IPv6: IPv6Forward,
		Hosts: []Host{
			{Name: "hosta.foo.example.", Address: netip.MustParseAddr("10.0.0.100"), Services: []Service{
				{Name: "www.hosta.foo.example.", Protocol: model.TCP, Port: 80, To: 8080, Again: &half},
				{Name: "blog.hosta.foo.example.", Protocol: model.TCP, Port: 80, To: 8080},
				{Name: "_dns.sub.foo.example.", Protocol: model.UDP, Port: 80, To: 80, Again: &none},
			}},
			{Name: "bar.example.", Address: netip.MustParseAddr("10.0.0.101")},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestDefaults(t *testing.T) {
	got, err := Load("testdata/least.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Interfaces = Interfaces{Public: []string{"eth0"}, Private: []string{"eth1"}}
	want.Realm = Realm{Zones: []model.Name{"foo.example."}, Nameserver: "ns.elsewhere.example."}
	want.DNS.Public, want.DNS.Private = netip.MustParseAddrPort("198.18.0.1:53"), netip.MustParseAddrPort("10.0.0.1:53")
	want.Pool.Addresses = addresses("198.18.0.32")
	if !reflect.DeepEqual(got, &want) {
		t.Errorf("\n got %+v\nwant %+v", got, &want)
	}
}

func TestLargestPoolIsExpandedInOrder(t *testing.T) {
	c, err := Load("testdata/largest.good.yml")
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
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Load(%s): %v", path, err)
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
	var found Errors
	if !errors.As(err, &found) || len(found) != maxErrors+1 {
		t.Fatalf("%d errors, want %d", len(found), maxErrors+1)
	}
	if last := found[maxErrors].Message; last != "more than 100 errors: the rest is not shown" {
		t.Errorf("the last error is %q", last)
	}
	for _, e := range found {
		if len(e.Message) > maxMessage+len("…") {
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
