package server

import (
	"context"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/store"
)

const text = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts: [{name: hosta.foo.example., address: 10.0.0.100, open: all}]
`

// nobody answers questions, lends nothing, and has no names.
type nobody struct {
	Data
	nameserver.Directory
}

func (nobody) Lent(model.Name) []model.Name     { return nil }
func (nobody) WebNames(model.Name) []model.Name { return nil }

func (nobody) Await(netip.Addr, time.Duration) {}

func (nobody) Allocate(context.Context, nameserver.Question) (nameserver.Answer, error) {
	return nameserver.Answer{}, nameserver.ErrExhausted
}

// served is a service whose store is a file; it ends with the test.
func served(t *testing.T, file string) *Service {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := config.NewDocument("test.yaml", []byte(text))
	must(err)
	kept, err := store.Open(file)
	must(err)
	t.Cleanup(func() { _ = kept.Close() })
	s, err := New(Options{
		Data: nobody{}, Store: kept, Allocator: nobody{}, Directory: func() nameserver.Directory { return nobody{} }, Now: func() model.Instant { return 0 },
		Serves: func(netip.Addr) bool { return true }, Inside: func(netip.Addr) bool { return false }, Log: slog.New(slog.DiscardHandler),
	}, Served{Config: d.Config, Zones: []nameserver.Zone{{Name: "foo.example."}}}, 1)
	must(err)
	return s
}

// The secret of cookies is another each day, the last one stays good, and a restart keeps both.
func TestCookieSecretsAreRenewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names.db")
	s := served(t, file)
	now := time.Now()
	first := s.cookies.Load().list()
	if first[0] != first[1] {
		t.Error("there is one before the first")
	}
	s.renewCookies(now.Add(23 * time.Hour))
	if !slices.Equal(s.cookies.Load().list(), first) {
		t.Error("it was renewed too early")
	}
	s.renewCookies(now.Add(25 * time.Hour))
	second := s.cookies.Load().list()
	if second[0] == first[0] || second[1] != first[0] {
		t.Errorf("%x became %x", first, second)
	}
	if err := s.Store.Close(); err != nil {
		t.Fatal(err)
	}
	s = served(t, file)
	if got := s.cookies.Load().list(); !slices.Equal(got, second) {
		t.Errorf("a restart made %x of %x", got, second)
	}
	s.renewCookies(now.Add(-48 * time.Hour)) // the clock was put back
	if got := s.cookies.Load().list(); got[0] == second[0] || got[1] != second[0] {
		t.Errorf("%x became %x", second, got)
	}
	// What an earlier daemon has kept is the only secret.
	old := second[0]
	if c, ok := readCookies(old[:], now); !ok || c.current != old || c.before != old {
		t.Errorf("%x was read as %+v", old, c)
	}
	if _, ok := readCookies(old[:15], now); ok {
		t.Error("15 octets were read")
	}
}
