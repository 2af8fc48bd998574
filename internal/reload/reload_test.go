package reload

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

const text = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    open: [tcp/22, icmp]
    services:
      - {name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}
      - {names: [shop.foo.example., cart.foo.example.], ports: [tcp/80:8080, tcp/443]} # both
`

// gateway has a configuration in force, and a file.
type gateway struct {
	*Service
	t         *testing.T
	path      string
	state     string // file of what comes back
	store     memory
	changing  lock
	now       InForce
	immutable []string
	refuses   error
	sessions  []api.Session
	told      []string
	failed    int // reloads
	log       strings.Builder
}

// lock is one for which waiting lets the clock of synctest go on.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// memory is a store.
type memory map[string][]byte

func (m memory) Change(_ string, put map[string][]byte, remove []string) error {
	maps.Copy(m, put)
	for _, key := range remove {
		delete(m, key)
	}
	return nil
}

func (m memory) Each(_ string, visit func(string, []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if err := visit(key, m[key]); err != nil {
			return err
		}
	}
	return nil
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	folder := t.TempDir()
	g := &gateway{t: t, path: filepath.Join(folder, "realmgate.yaml"), state: filepath.Join(folder, "state", "a.json"), store: memory{}, changing: make(lock, 1)}
	g.write(text)
	g.start()
	return g
}

// start is that of another process, after whatever has become of the one before.
func (g *gateway) start() {
	g.t.Helper()
	d, err := Read(g.path, g.state)
	g.must(err)
	g.now = InForce{Document: d, Filed: d, Generation: g.now.Generation + 1}
	g.Service = New(Options{
		Failed: func() { g.failed++ },
		File:   g.path, State: g.state, Changing: g.changing, Events: g, Log: slog.New(slog.NewTextHandler(&g.log, nil)),
		InForce:   func() InForce { return g.now },
		Immutable: func(*config.Document) []string { return g.immutable },
		Lost:      func(*config.Config) int { return 3 },
		Put: func(d, filed *config.Document) error {
			if g.refuses == nil {
				g.now = InForce{d, filed, g.now.Generation + 1}
			}
			return g.refuses
		},
		Sessions: func(visit func(api.Session) bool) error {
			for _, s := range g.sessions {
				if !visit(s) {
					break
				}
			}
			return nil
		},
	})
	change, err := g.Open(g.store)
	g.must(err)
	change.Settle()
}

// Emit notes an event.
func (g *gateway) Emit(e event.Event) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	switch e := e.(type) {
	case event.Reload:
		g.told = append(g.told, fmt.Sprintf("%s %d %t", e.Kind(), e.Generation, e.Error != ""))
	case event.RolledBack:
		g.told = append(g.told, fmt.Sprintf("%s %d to %d, %t %t", e.Kind(), e.Generation, e.To, e.Unconfirmed, e.Error != ""))
	default:
		g.told = append(g.told, e.Kind().String())
	}
}

func (g *gateway) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) write(text string) {
	g.t.Helper()
	g.must(os.WriteFile(g.path, []byte(text), 0o600))
}

func TestReload(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	done, err := g.Reload(api.ReloadRequest{})
	if want := (api.Reload{Generation: 2, Hosts: 1, Dropped: 3}); err != nil || done != want {
		t.Errorf("%+v, %v, want %+v", done, err, want)
	}
	if done, err := g.Reload(api.ReloadRequest{Request: api.Request{Expected: 1}}); !errors.As(err, new(api.Stale)) || done != (api.Reload{}) || g.now.Generation != 2 {
		t.Errorf("a reload made for a generation that is over: %+v, %v", done, err)
	}
	for name, c := range map[string]struct {
		file      string
		immutable []string
		refuses   error
		want      string
	}{
		"a fault":   {file: "pool: 1\n", want: g.path + ":1: "},
		"a restart": {file: text, immutable: []string{"capacity", "dns.public"}, want: g.path + ": dns.public changed: restart the daemon to change it"},
		"refused":   {file: text, refuses: errors.New("no room"), want: g.path + ": no room"},
	} {
		g.write(c.file)
		g.immutable, g.refuses = c.immutable, c.refuses
		before := g.now.Document
		if done, err := g.Reload(api.ReloadRequest{}); err == nil || !strings.Contains(err.Error(), c.want) || done != (api.Reload{}) || g.now.Document != before {
			t.Errorf("%s: %+v, %v, want %q", name, done, err, c.want)
		}
	}
	if want := []string{"reload 2 false", "reload 0 true", "reload 0 true", "reload 0 true"}; !slices.Equal(g.told, want) || g.failed != 3 {
		t.Errorf("told %q, %d failed", g.told, g.failed)
	}
}

// The files of the folder beside it are part of the configuration.
func TestReloadOfSeveralFiles(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	more := filepath.Join(filepath.Dir(g.path), "realmgate.d", "shop.yaml")
	shop := "hosts:\n  - {name: hostb.foo.example., address: 10.0.0.101, open: [tcp/443]}\n"
	g.must(os.Mkdir(filepath.Dir(more), 0o700))
	g.must(os.WriteFile(more, []byte(shop), 0o600))
	if d, err := g.ConfigDiff(); err != nil || len(d.Differences) != 1 || d.Differences[0].Is != "hostb.foo.example." {
		t.Errorf("%+v, %v", d, err)
	}
	if done, err := g.Reload(api.ReloadRequest{}); err != nil || done.Hosts != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	if c, err := g.Config(0); err != nil || len(c.Files) != 2 || c.Files[1] != (api.ConfigFile{File: more, Text: shop}) {
		t.Errorf("%+v, %v", c, err)
	}
	g.must(os.WriteFile(more, []byte("capacity: 2000\nhosts: 1\n"), 0o600))
	if _, err := g.Reload(api.ReloadRequest{}); err == nil || !strings.HasPrefix(err.Error(), more+":2: hosts: duplicate key, first given at line 5 of "+g.path) {
		t.Errorf("%v", err)
	}
}

// What is in force is shown, not what the file has become.
func TestConfig(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.write("nonsense")
	c, err := g.Config(0)
	if err != nil || c.Generation != 1 || !slices.Equal(c.Files, []api.ConfigFile{{File: g.path, Text: text}}) || !strings.Contains(c.Effective, "  rest: 730s\n") || strings.Contains(c.Effective, "#") {
		t.Errorf("%+v, %v", c, err)
	}
}

func session(name, private, protocol string) api.Session {
	s := api.Session{Name: name, Host: "hosta.foo.example.", Origin: "pool", Private: netip.MustParseAddrPort(private)}
	if err := s.Protocol.UnmarshalText([]byte(protocol)); err != nil {
		panic(err)
	}
	return s
}

// A file that closes services names them, and the sessions that end.
func TestConfigDiff(t *testing.T) {
	t.Parallel()
	www, shop, own := "www.hosta.foo.example.", "shop.foo.example.", "hosta.foo.example."
	sessions := []api.Session{
		session(www, "10.0.0.100:8080", "tcp"), session(www, "10.0.0.100:8080", "tcp"), session(shop, "10.0.0.100:8080", "tcp"),
		session(shop, "10.0.0.100:443", "tcp"), session(own, "10.0.0.100:22", "tcp"), session(own, "10.0.0.100:7", "icmp"),
		session("", "10.0.0.100:40000", "tcp"),
	}
	port := func(text string) model.Port {
		p, err := model.ParsePort(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	withoutWWW := "      - {name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}\n"
	withoutShop := "      - {names: [shop.foo.example., cart.foo.example.], ports: [tcp/80:8080, tcp/443]} # both\n"
	for _, c := range []struct {
		name, from, to string
		web            bool
		want           []api.ServiceChange
		keys           []string
	}{
		{name: "nothing", to: ""},
		{name: "another open service has the same port", from: withoutWWW, want: []api.ServiceChange{
			{Host: own, Name: www, Closes: []model.Port{port("tcp/80:8080")}},
		}, keys: []string{"hosts[hosta.foo.example.].services"}},
		{name: "a web name leads nowhere", web: true, from: withoutWWW, want: []api.ServiceChange{
			{Host: own, Name: www, Closes: []model.Port{port("tcp/80:8080")}, Sessions: 2},
		}, keys: []string{"hosts[hosta.foo.example.].services"}},
		{name: "a port closes", from: ", tcp/443]", to: "]", want: []api.ServiceChange{
			{Host: own, Name: shop, Closes: []model.Port{port("tcp/443")}, Sessions: 1}, {Host: own, Name: "cart.foo.example.", Closes: []model.Port{port("tcp/443")}},
		}, keys: []string{"hosts[hosta.foo.example.].services[shop.foo.example.].ports"}},
		{name: "all but one", from: withoutWWW + withoutShop, to: withoutWWW, want: []api.ServiceChange{
			{Host: own, Name: shop, Closes: []model.Port{port("tcp/80:8080"), port("tcp/443")}, Sessions: 1},
			{Host: own, Name: "cart.foo.example.", Closes: []model.Port{port("tcp/80:8080"), port("tcp/443")}},
		}, keys: []string{"hosts[hosta.foo.example.].services"}},
		{name: "its own name", from: "open: [tcp/22, icmp]", to: "open: [tcp/2222]", want: []api.ServiceChange{
			{Host: own, Name: own, Closes: []model.Port{port("tcp/22"), port("icmp")}, Opens: []model.Port{port("tcp/2222")}, Sessions: 2},
		}, keys: []string{"hosts[hosta.foo.example.].open", "hosts[hosta.foo.example.].open", "hosts[hosta.foo.example.].open"}},
		{name: "another address", from: "address: 10.0.0.100", to: "address: 10.0.0.102", want: []api.ServiceChange{
			{Host: own, Name: own, Closes: []model.Port{port("tcp/22"), port("icmp")}, Opens: []model.Port{port("tcp/22"), port("icmp")}, Sessions: 2},
			{Host: own, Name: www, Closes: []model.Port{port("tcp/80:8080")}, Opens: []model.Port{port("tcp/80:8080")}, Sessions: 2},
			{Host: own, Name: shop, Closes: []model.Port{port("tcp/80:8080"), port("tcp/443")}, Opens: []model.Port{port("tcp/80:8080"), port("tcp/443")}, Sessions: 2},
			{
				Host: own, Name: "cart.foo.example.", Closes: []model.Port{port("tcp/80:8080"), port("tcp/443")},
				Opens: []model.Port{port("tcp/80:8080"), port("tcp/443")},
			},
		}, keys: []string{"hosts[hosta.foo.example.].address"}},
		{name: "a new name", from: "hosts:", to: "hosts:\n  - {name: hostb.foo.example., address: 10.0.0.101, open: all}", want: []api.ServiceChange{
			{Host: "hostb.foo.example.", Name: "hostb.foo.example.", Opens: []model.Port{{}}},
		}, keys: []string{"hosts"}},
		{name: "a value", from: "198.18.0.32/28]", to: "198.18.0.32/28], rest: 60s", keys: []string{"pool.rest"}},
	} {
		g := newGateway(t)
		g.immutable = []string{"capacity"}
		g.sessions = slices.Clone(sessions)
		for i := range g.sessions {
			if c.web {
				g.sessions[i].Origin = "web"
			}
		}
		g.write(strings.Replace(text, c.from, c.to, 1))
		d, err := g.ConfigDiff()
		var keys []string
		for _, difference := range d.Differences {
			keys = append(keys, difference.Key)
		}
		if err != nil || !reflect.DeepEqual(d.Services, c.want) || !slices.Equal(keys, c.keys) || !slices.Equal(d.Restart, g.immutable) {
			t.Errorf("%s: %v\n got %+v, keys %q\nwant %+v, keys %q", c.name, err, d.Services, keys, c.want, c.keys)
		}
		if g.now.Generation != 1 || len(g.told) > 0 {
			t.Errorf("%s: something was changed, %q", c.name, g.told)
		}
	}
}

func TestConfigDiffIsBounded(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	var hosts strings.Builder
	for i := range api.MostDifferences + 5 {
		fmt.Fprintf(&hosts, "  - {name: h%d.foo.example., address: 10.1.%d.%d, open: [tcp/22]}\n", i, i/250, 1+i%250)
	}
	g.write(text + hosts.String())
	d, err := g.ConfigDiff()
	if err != nil || len(d.Differences) != api.MostDifferences || len(d.Services) != api.MostDifferences || d.Left != 10 {
		t.Errorf("%d differences, %d services, %d left: %v", len(d.Differences), len(d.Services), d.Left, err)
	}
	g.write("nonsense")
	if _, err := g.ConfigDiff(); err == nil || !strings.HasPrefix(err.Error(), g.path+":1: ") {
		t.Errorf("%v", err)
	}
}
