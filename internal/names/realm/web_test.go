package realm

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

const webText = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [{name: foo.example., file: foo.zone}, sub.foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
web: {addresses: [198.18.0.80, 198.18.0.81], ttl: 60s}
hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    open: [tcp/22, tcp/443]
    services:
      - {names: [www.foo.example., foo.example., "*.shop.foo.example."], ports: ["tcp/80:8080", tcp/443]}
      - {name: mail.sub.foo.example., ports: [tcp/25]}
      - {name: deep.shop.foo.example., ports: [tcp/443], web: false}
  - {name: hostb.foo.example., address: 10.0.0.101, open: [tcp/443]}
  - {name: closed.foo.example., address: 10.0.0.102}
`

const webZone = `$TTL 300
blog	CNAME	www
far	CNAME	blog
*.b	CNAME	x.shop
ssh	CNAME	hosta
away	CNAME	www.example.net.
round	CNAME	about
about	CNAME	round
lab	NS	ns.example.net.
fixed	A	192.0.2.1
`

func webRealm(t *testing.T, text string) (*Realm, *config.Config) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "foo.zone"), []byte(webZone), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := config.NewDocument(filepath.Join(folder, "realmgate.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(d, d.Config.Web.Addresses)
	if err != nil {
		t.Fatal(err)
	}
	return r, d.Config
}

var first, second = netip.MustParseAddr("198.18.0.80"), netip.MustParseAddr("198.18.0.81")

// Every name that is answered with a web address leads where it is to, in whatever letters a client sends it.
func TestWebTarget(t *testing.T) {
	r, _ := webRealm(t, webText)
	www := func(name model.Name, port string) WebTarget {
		return WebTarget{Name: name, Host: "hosta.foo.example.", Service: "www.foo.example.", To: netip.MustParseAddrPort("10.0.0.100:" + port)}
	}
	b := WebTarget{Name: "hostb.foo.example.", Host: "hostb.foo.example.", Service: "hostb.foo.example.", To: netip.MustParseAddrPort("10.0.0.101:443")}
	for _, c := range []struct {
		name     string
		protocol model.Protocol
		port     uint16
		want     WebTarget // the zero value: nobody
	}{
		{"www.foo.example", model.TCP, 443, www("www.foo.example.", "443")},
		{"www.foo.example", model.TCP, 80, www("www.foo.example.", "8080")},
		{"WWW.Foo.Example.", model.TCP, 443, www("www.foo.example.", "443")},
		{"foo.example", model.TCP, 443, www("foo.example.", "443")},
		{"x.y.shop.foo.example", model.TCP, 443, www("*.shop.foo.example.", "443")},
		{"hostb.foo.example", model.TCP, 443, b},
		{"blog.foo.example", model.TCP, 443, www("www.foo.example.", "443")},
		{"far.foo.example", model.TCP, 443, www("www.foo.example.", "443")},
		{"any.b.foo.example", model.TCP, 80, www("*.shop.foo.example.", "8080")},
		{name: "www.foo.example", protocol: model.UDP, port: 443},
		{name: "www.foo.example", protocol: model.TCP, port: 8080},
		{name: "hostb.foo.example", protocol: model.TCP, port: 80},
		{name: "hosta.foo.example", protocol: model.TCP, port: 443}, // opens SSH, too: it is lent
		{name: "ssh.foo.example", protocol: model.TCP, port: 443},   // and so is what leads to it
		{name: "deep.shop.foo.example", protocol: model.TCP, port: 443},
		{name: "x.deep.shop.foo.example", protocol: model.TCP, port: 443},
		{name: "mail.sub.foo.example", protocol: model.TCP, port: 25},
		{name: "closed.foo.example", protocol: model.TCP, port: 443},
		{name: "shop.foo.example", protocol: model.TCP, port: 443}, // exists by the wildcard below it alone
		{name: "_acme.shop.foo.example", protocol: model.TCP, port: 443},
		{name: "nobody.foo.example", protocol: model.TCP, port: 443},
		{name: "away.foo.example", protocol: model.TCP, port: 443},
		{name: "round.foo.example", protocol: model.TCP, port: 443},
		{name: "x.lab.foo.example", protocol: model.TCP, port: 443},
		{name: "fixed.foo.example", protocol: model.TCP, port: 443},
		{name: "www.bar.example", protocol: model.TCP, port: 443},
		{name: "www.foo.example.evil", protocol: model.TCP, port: 443},
		{name: "example", protocol: model.TCP, port: 443},
		{name: "", protocol: model.TCP, port: 443},
		{name: ".", protocol: model.TCP, port: 443},
		{name: "www..foo.example", protocol: model.TCP, port: 443},
		{name: "10.0.0.100", protocol: model.TCP, port: 443},
		{name: "*.shop.foo.example", protocol: model.TCP, port: 443},
		{name: "www.foo.example\x00", protocol: model.TCP, port: 443},
		{name: strings.Repeat("a.", 200) + "foo.example", protocol: model.TCP, port: 443},
	} {
		if got, ok := r.WebTarget(c.name, c.protocol, c.port); got != c.want || ok != (c.want != WebTarget{}) {
			t.Errorf("%q, %s/%d: %+v, %v, want %+v", c.name, c.protocol, c.port, got, ok, c.want)
		}
	}
}

// Whatever name the name server answers with a web address leads somewhere, and no other does.
func TestAnswersAndTargetsAgree(t *testing.T) {
	r, c := webRealm(t, webText)
	server, err := nameserver.NewPublic(nameserver.PublicOptions{
		Zones: r.Zones, Nameserver: c.Realm.Nameserver, NameserverAddress: c.DNS.Public.Addr(), Serial: 1,
		Directory: func() nameserver.Directory { return r }, Allocator: lender{},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, nil, listener) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	client := dns.Client{Net: "tcp"}
	found := 0
	for _, name := range strings.Fields("www blog far any.b x.y.b b ssh away round lab x.lab fixed nobody hosta hostb closed shop x.shop x.y.shop deep.shop " +
		"x.deep.shop _x.shop _x.b mail.sub sub x.www ns x.ns x.blog @") {
		name = strings.TrimPrefix(name+".foo.example.", "@.")
		reply, _, err := client.Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA), listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		answered := slices.ContainsFunc(reply.Answer, func(rr dns.RR) bool {
			a, is := rr.(*dns.A)
			return is && a.A.Equal(first.AsSlice())
		})
		_, leads := r.WebTarget(name, model.TCP, 443)
		if answered != leads {
			t.Errorf("%s leads somewhere: %v, and is answered %v", name, leads, reply)
		}
		if leads {
			found++
		}
	}
	if found < 8 {
		t.Errorf("only %d of the names are web names: the test shows little", found)
	}
}

// lender lends the same address to everybody.
type lender struct{}

func (lender) Allocate(context.Context, nameserver.Question) (nameserver.Answer, error) {
	return nameserver.Answer{Address: netip.MustParseAddr("198.18.0.32")}, nil
}

// The name server's entries say which names are web names.
func TestFindSaysWhatIsWeb(t *testing.T) {
	r, _ := webRealm(t, webText)
	for name, want := range map[model.Name]netip.Addr{
		"www.foo.example.": first, "foo.example.": first, "x.shop.foo.example.": first, "hostb.foo.example.": first,
		"hosta.foo.example.": {}, "mail.sub.foo.example.": {}, "deep.shop.foo.example.": {}, "closed.foo.example.": {},
	} {
		entry, ok := r.Find(name)
		if !ok || entry.Web != want || want.IsValid() != (entry.WebTTL == time.Minute) {
			t.Errorf("%s: %+v", name, entry)
		}
		_, _, lends := Lendable{r}.Find(name)
		if lends == want.IsValid() && name != "closed.foo.example." {
			t.Errorf("%s is lent: %v", name, lends)
		}
	}
	for _, s := range (Lendable{r}).Services() {
		if s.Name == "www.foo.example." || s.Name == "hostb.foo.example." {
			t.Errorf("the pool is to have a place for %s", s.Name)
		}
	}
}

// All names of a host are at the address that its placement says, if that is a web address still. What is not sure is not
// remembered for long.
func TestPlacement(t *testing.T) {
	r, _ := webRealm(t, webText)
	for _, sure := range []bool{true, false} {
		placed := r.Placed(func(host model.Name) (netip.Addr, bool) {
			return map[model.Name]netip.Addr{"hostb.foo.example.": second, "hosta.foo.example.": netip.MustParseAddr("198.18.0.99")}[host], sure
		})
		for name, want := range map[model.Name]netip.Addr{"hostb.foo.example.": second, "www.foo.example.": first, "x.shop.foo.example.": first} {
			ttl := unsureTTL
			if sure && want == second {
				ttl = time.Minute
			}
			if entry, _ := placed.Find(name); entry.Web != want || entry.WebTTL != ttl {
				t.Errorf("%s is at %s for %v, want %s for %v", name, entry.Web, entry.WebTTL, want, ttl)
			}
		}
	}
	if got := r.WebAddress("hostb.foo.example."); got != first {
		t.Errorf("the realm before is changed: %s", got)
	}
	without, _ := webRealm(t, strings.Replace(webText, "web: {", "#", 1))
	if got := without.WebAddress("hostb.foo.example."); got.IsValid() {
		t.Errorf("without web addresses: %s", got)
	}
	if target, ok := without.WebTarget("www.foo.example", model.TCP, 443); ok {
		t.Errorf("without web addresses: %+v", target)
	}
}

func TestWebServicesAreListed(t *testing.T) {
	r, _ := webRealm(t, webText)
	r = r.Placed(func(model.Name) (netip.Addr, bool) { return second, true })
	var got []string
	for _, row := range r.WebServices(api.Filter{}) {
		got = append(got, row.Service+" "+row.Host+" "+row.Address.String())
	}
	if want := []string{"www.foo.example. hosta.foo.example. 198.18.0.81", "hostb.foo.example. hostb.foo.example. 198.18.0.81"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if rows := r.WebServices(api.Filter{Host: "hostb.foo.example."}); len(rows) != 1 {
		t.Errorf("of one host: %+v", rows)
	}
}

// Who has the web beside something else is told why it is in the pool, unless web: false says so.
func TestWebDoubts(t *testing.T) {
	_, c := webRealm(t, webText)
	got := WebDoubts(c)
	if len(got) != 1 || !strings.HasPrefix(got[0], "hosta.foo.example. opens tcp/22, tcp/443, and has a pool address") {
		t.Errorf("%q", got)
	}
	const opens = "prefixes: [10.1.0.0/16], services: [{ports: [tcp/443]}, {name: x, ports: [tcp/22, tcp/443]}]}\n"
	_, c = webRealm(t, webText+"dynamic:\n  - {zone: foo.example., kea: leases, "+opens+"  - {zone: foo.example., file: hosts, "+opens)
	if got := WebDoubts(c); len(got) != 2 || !strings.HasPrefix(got[1], "x.*.foo.example. opens tcp/22, tcp/443, and has a pool address") {
		t.Errorf("of hosts that register themselves: %q", got)
	}
	c.Web.Addresses = nil
	if got := WebDoubts(c); got != nil {
		t.Errorf("without web addresses: %q", got)
	}
}
