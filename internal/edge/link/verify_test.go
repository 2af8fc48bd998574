package link

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/certificate"
)

// Each way in which a certificate is not the peer's has its own reason, whichever side shows it; one that is for servers alone is
// accepted from the side that dials, too.
func TestCertificates(t *testing.T) {
	t.Parallel()
	authority, other := certificate.NewAuthority(t), certificate.NewAuthority(t)
	long := func(c x509.Certificate, from, to time.Duration) x509.Certificate {
		c.NotBefore, c.NotAfter = time.Now().Add(from), time.Now().Add(to)
		return c
	}
	server := func(name string) x509.Certificate { return certificate.ForNames(name) }
	clients := server("edge1.example")
	clients.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	pinned := certificate.SelfSigned(t, server("edge1.example"))
	old := certificate.SelfSigned(t, long(server("another.example"), -48*time.Hour, -24*time.Hour))
	byPin := func(p certificate.Pair) Peer { return Peer{Pins: [][32]byte{{}, Pin(p.Certificate)}} }
	byRoots := Peer{Roots: authority.Pool()}
	for _, row := range []struct {
		name  string
		shown certificate.Pair
		peer  Peer // what the other side has configured
		want  error
	}{
		{"pinned, for servers alone", pinned, byPin(pinned), nil},
		{"pinned, of another name and expired: the pin says enough", old, byPin(old), nil},
		{"pinned to another key", pinned, byPin(old), ErrPin},
		{"signed, for servers alone", authority.Issue(t, server("edge1.example")), byRoots, nil},
		{"signed, of a wildcard", authority.Issue(t, server("*.example")), byRoots, nil},
		{"expired", authority.Issue(t, long(server("edge1.example"), -48*time.Hour, -24*time.Hour)), byRoots, ErrExpired},
		{"not yet in force", authority.Issue(t, long(server("edge1.example"), 24*time.Hour, 48*time.Hour)), byRoots, ErrExpired},
		{"of another authority", other.Issue(t, server("edge1.example")), byRoots, ErrAuthority},
		{"of nobody but itself", pinned, byRoots, ErrAuthority},
		{"for clients alone", authority.Issue(t, clients), byRoots, ErrAuthority},
		{"of another name", authority.Issue(t, server("edge1.example.org")), byRoots, ErrName},
		{"no pin, no authority", authority.Issue(t, server("edge1.example")), Peer{}, ErrAuthority},
	} {
		for _, dials := range []bool{true, false} { // the side that shows it
			name := row.name + ", shown by who is dialled"
			if dials {
				name = row.name + ", shown by who dials"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				shows, looks := newEdge(t, 1), newEdge(t, 2)
				shows.pair = row.shown
				shows.listening(t)
				looks.listening(t)
				shows.knows(looks)
				peer := row.peer
				peer.Name, peer.Address = shows.name, shows.address
				looks.peers = []Peer{peer}
				if dials {
					looks.peers[0].Address = netip.AddrPort{}
				} else {
					shows.peers[0].Address = netip.AddrPort{}
				}
				looks.start(t)
				shows.start(t)
				if row.want == nil {
					looks.await(t, "up", func() bool { return looks.keys != nil })
					shows.await(t, "up", func() bool { return shows.keys != nil })
					return
				}
				looks.await(t, "rejected", func() bool { return len(looks.rejected) > 0 })
				for _, one := range []error{ErrPin, ErrName, ErrALPN, ErrExpired, ErrAuthority, ErrTooMany, ErrRefused, ErrHandshake} {
					if got := looks.rejections()[0]; errors.Is(got, one) != errors.Is(row.want, one) {
						t.Errorf("rejected because %v, want %v", got, row.want)
					}
				}
				if len(looks.calls())+len(shows.calls()) != 0 {
					t.Errorf("told %v and %v", looks.calls(), shows.calls())
				}
				if dials { // its administrator learns that it is the other side's configuration
					shows.await(t, "rejected", func() bool { return len(shows.rejected) > 0 })
					if s := shows.States()[0]; !errors.Is(shows.rejections()[0], ErrRefused) || !strings.Contains(s.Error, ErrRefused.Error()) {
						t.Errorf("who was refused knows %v, %+v", shows.rejections()[0], s)
					}
				}
			})
		}
	}
}

// A server of something else, and a peer that says another name than its key's.
func TestWhoIsNoPeer(t *testing.T) {
	t.Parallel()
	dialled := func(t *testing.T, b *edge, config *tls.Config) error {
		raw, err := b.options.Dial(t.Context(), b.address)
		if err != nil {
			t.Fatal(err)
		}
		c := tls.Client(raw, config)
		defer c.Close() //nolint:errcheck // a test's
		return c.HandshakeContext(t.Context())
	}
	for _, row := range []struct {
		name      string
		protocols []string
		want      error
	}{{"a browser", []string{"h2", "http/1.1"}, ErrALPN}, {"one that says no protocol", nil, ErrALPN}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a, b := newEdge(t, 1), newEdge(t, 2)
			b.listening(t)
			b.knows(a)
			b.start(t)
			_ = dialled(t, b, &tls.Config{NextProtos: row.protocols, Certificates: []tls.Certificate{*a.pair.TLS()}, InsecureSkipVerify: true}) //nolint:gosec // the test's own server
			b.await(t, "rejected", func() bool { return len(b.rejected) > 0 })
			if !errors.Is(b.rejections()[0], row.want) {
				t.Errorf("rejected because %v, want %v", b.rejections()[0], row.want)
			}
		})
	}
	t.Run("TLS 1.2", func(t *testing.T) {
		t.Parallel()
		a, b := newEdge(t, 1), newEdge(t, 2)
		b.listening(t)
		b.knows(a)
		b.start(t)
		config := &tls.Config{NextProtos: []string{wire.ALPN}, Certificates: []tls.Certificate{*a.pair.TLS()}, MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // that is the test
		if err := dialled(t, b, config); err == nil {
			t.Error("TLS 1.2 is spoken")
		}
	})
	t.Run("another name", func(t *testing.T) {
		t.Parallel()
		a, b := newEdge(t, 1), newEdge(t, 2)
		a.listening(t)
		b.listening(t)
		a.knows(b)
		b.knows(a)
		b.peers[0].Address = netip.AddrPort{}
		made := a.options.Hello
		a.options.Hello = func(p model.Name, k Keys) (wire.Hello, error) {
			h, err := made(p, k)
			h.Name = "edge3.example."
			return h, err
		}
		b.start(t)
		a.start(t)
		b.await(t, "rejected", func() bool { return len(b.rejected) > 0 })
		if !errors.Is(b.rejections()[0], ErrName) {
			t.Errorf("rejected because %v, want %v", b.rejections()[0], ErrName)
		}
	})
}

// Ranges of versions need not be equal (the predecessor's defect 8); where they have none in common, both ends know both.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		dialler, acceptor [2]int
		want              int // 0: refused
	}{
		{[2]int{1, 1}, [2]int{1, 1}, 1}, {[2]int{1, 1}, [2]int{1, 2}, 1}, {[2]int{1, 2}, [2]int{1, 1}, 1},
		{[2]int{1, 3}, [2]int{2, 9}, 3}, {[2]int{2, 3}, [2]int{1, 1}, 0}, {[2]int{1, 1}, [2]int{2, 3}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b, _ := both(t)
			b.peers[0].Address = netip.AddrPort{}
			for e, versions := range map[*edge][2]int{a: row.dialler, b: row.acceptor} {
				made := e.options.Hello
				e.options.Hello = func(p model.Name, k Keys) (wire.Hello, error) {
					h, err := made(p, k)
					h.Versions = versions
					return h, err
				}
			}
			stopB := b.start(t)
			stopA := a.start(t)
			passes(t, testWait+time.Millisecond) // who speaks into a pipe that nobody reads gives up after flushMost
			synctest.Wait()
			for _, e := range []*edge{a, b} {
				switch s := e.States()[0]; {
				case row.want != 0 && (!s.Up || s.Version != row.want):
					t.Errorf("%v with %v: %s: %+v, want version %d", row.dialler, row.acceptor, e.name, s, row.want)
				case row.want == 0 && (s.Up || len(e.rejections()) == 0 || !errors.Is(e.rejections()[0], ErrVersion)):
					t.Errorf("%v with %v: %s: %+v, rejected %v, want %v", row.dialler, row.acceptor, e.name, s, e.rejections(), ErrVersion)
				case row.want == 0:
					for _, r := range [][2]int{row.dialler, row.acceptor} {
						if !strings.Contains(s.Error, string([]byte{'0' + byte(r[0]), ' ', 't', 'o', ' ', '0' + byte(r[1])})) {
							t.Errorf("%s says %q, which has not both ranges", e.name, s.Error)
						}
					}
				}
			}
			stopA()
			stopB()
		})
	}
}
