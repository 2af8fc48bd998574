package browser

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go/http3"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// siteServer is a web server in Go, which speaks HTTP/1.1, 2 and 3 and knows what it saw of each request's client. nginx of
// Debian knows neither HTTP/3 nor the post-quantum key exchange.
type siteServer struct {
	host         string
	certificates *certifier
	siteHabits

	mutex sync.Mutex
	own   map[string]*tls.Certificate // name → its certificate
	seen  map[sight]int               // requests
}

// siteHabits are what a web server does beside the usual.
type siteHabits struct {
	shared      []string // names that one certificate is for
	alternative bool     // it says that it has HTTP/3, too (RFC 7838)
}

// sight is what a request shows of its client.
type sight struct {
	from     netip.Addr
	protocol string      // "HTTP/2.0"
	exchange tls.CurveID // 0 without TLS
}

// siteServer starts one on a node, at a port for HTTP and one for TLS and QUIC. Whoever reaches the wrong host gets a certificate
// there, too, and sees the wrong host's name instead of an error.
func (w *world) siteServer(node netns.Node, host string, port80, port443 int, certificates *certifier, habits siteHabits) *siteServer {
	w.t.Helper()
	s := &siteServer{host: host, certificates: certificates, siteHabits: habits, own: map[string]*tls.Certificate{}, seen: map[sight]int{}}
	at := func(port int) string { return fmt.Sprintf("%s:%d", node.IP, port) }
	plain, err := node.Listen("tcp4", at(port80))
	w.must(err)
	secure, err := node.Listen("tcp4", at(port443))
	w.must(err)
	packets, err := node.ListenPacket("udp4", at(port443))
	w.must(err)
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.certificate}
	// Idle connections are closed after 5 s, as Apache does. A server that serves without TLS first has no HTTP/2.
	servers := [2]*http.Server{}
	for i := range servers {
		servers[i] = &http.Server{
			Handler: s, TLSConfig: config.Clone(), ReadHeaderTimeout: time.Minute, IdleTimeout: 5 * time.Second,
			ErrorLog: log.New(s, "", 0),
		}
	}
	quic := &http3.Server{Handler: s, TLSConfig: http3.ConfigureTLSConfig(config.Clone()), IdleTimeout: 5 * time.Second}
	go func() { _ = servers[0].Serve(plain) }()
	go func() { _ = servers[1].ServeTLS(secure, "", "") }()
	go func() { _ = quic.Serve(packets) }()
	w.t.Cleanup(func() { _ = errors.Join(servers[0].Close(), servers[1].Close(), quic.Close(), packets.Close()) })
	return s
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// Write takes what net/http logs of clients that go away, and forgets it.
func (s *siteServer) Write(line []byte) (int, error) { return len(line), nil }

// certificate is that of the name asked for, made when it is first.
func (s *siteServer) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c := s.own[hello.ServerName]; c != nil {
		return c, nil
	}
	names := []string{hello.ServerName}
	if slices.Contains(s.shared, hello.ServerName) {
		names = s.shared
	}
	c, err := s.certificates.pair(names...)
	if err == nil {
		s.own[hello.ServerName] = c
	}
	return c, err
}

// ServeHTTP answers as backend does. At /seen it says what it saw: host, name, path and client; and it ends the connection.
func (s *siteServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	saw := sight{from: from.Addr(), protocol: r.Proto}
	version := uint16(0)
	if r.TLS != nil {
		saw.exchange, version = r.TLS.CurveID, r.TLS.Version
	}
	s.mutex.Lock()
	s.seen[saw]++
	s.mutex.Unlock()
	if s.alternative {
		w.Header().Set("Alt-Svc", `h3=":443"; ma=3600`)
	}
	if r.URL.Path == "/seen" {
		if r.ProtoMajor < 3 {
			w.Header().Set("Connection", "close")
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		name, _, _ := strings.Cut(r.Host, ":")
		_, _ = fmt.Fprintln(w, s.host, name, from.Addr(), r.Proto, strings.ReplaceAll(tls.VersionName(version), " ", ""), r.URL.RawQuery)
		return
	}
	backend(s.host).ServeHTTP(w, r)
}

// saw returns how many requests came with each protocol from an address, and how many of those by TLS or QUIC without the
// post-quantum key exchange.
func (s *siteServer) saw(from netip.Addr) (protocols map[string]int, classical int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	protocols = map[string]int{}
	for saw, n := range s.seen {
		if saw.from != from {
			continue
		}
		protocols[saw.protocol] += n
		if saw.exchange != 0 && saw.exchange != tls.X25519MLKEM768 {
			classical += n
		}
	}
	return protocols, classical
}

// strangers are the addresses that it saw and that are not among the expected.
func (s *siteServer) strangers(expected []netip.Addr) (list []netip.Addr) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for saw := range s.seen {
		if !slices.Contains(expected, saw.from) && !slices.Contains(list, saw.from) {
			list = append(list, saw.from)
		}
	}
	return list
}
