package packages

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// site is a host's server: a page, and a download that lasts until the upgrade is over and is a gigabyte at least.
type site struct {
	begun, upgraded chan struct{}
	sum             chan string
}

const large = 1 << 30

func serve(t *testing.T, at netns.Node) *site {
	t.Helper()
	w := &site{make(chan struct{}), make(chan struct{}), make(chan string, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(a http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(a, "page") })
	mux.HandleFunc("/large", func(a http.ResponseWriter, _ *http.Request) {
		sum := sha256.New()
		w.send(io.MultiWriter(a, sum), sum)
	})
	listener, err := at.Listen("tcp4", fmt.Sprintf("%s:8080", at.IP))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return w
}

// send sends half of it as fast as it goes, then slowly until the upgrade is over, and then the rest.
func (w *site) send(to io.Writer, sum hash.Hash) {
	random := rand.NewChaCha8([32]byte{})
	block := make([]byte, 1<<20)
	slow := time.NewTicker(100 * time.Millisecond)
	defer slow.Stop()
	for sent := 0; ; sent += len(block) {
		over := false
		select {
		case <-w.upgraded:
			over = true
		default:
		}
		switch {
		case over && sent >= large:
			w.sum <- hex.EncodeToString(sum.Sum(nil))
			return
		case sent == large/64:
			close(w.begun)
		case !over && sent > large/2:
			<-slow.C
		}
		_, _ = random.Read(block) // never fails
		if _, err := to.Write(block); err != nil {
			w.sum <- err.Error()
			return
		}
	}
}

// connection is a client's, which is kept.
type connection struct {
	net.Conn
	answers *bufio.Reader
}

// open opens one to the site, by name, and fetches the page.
func (s *story) open() connection {
	s.t.Helper()
	address, err := s.ask()
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := s.client.DialContext(s.t.Context(), "tcp4", address+":80")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	kept := connection{c, bufio.NewReader(c)}
	kept.goesOn(s.t, "the start")
	return kept
}

// goesOn fetches the page by it.
func (c connection) goesOn(t *testing.T, after string) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: www.foo.example\r\n\r\n"); err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	defer answer.Body.Close()
	if page, err := io.ReadAll(answer.Body); err != nil || string(page) != "page" {
		t.Fatalf("after %s: %q, %v", after, page, err)
	}
}
