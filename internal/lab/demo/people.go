package demo

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// person is somebody, or a machine, with a name in the story.
type person struct {
	name string
	netns.Node
}

// answer is what came back for a name.
type answer struct {
	address netip.Addr
	trace   []string // what the resolver tells of its own questions
	took    time.Duration
}

// ask asks a name server for the address of a name.
func (p person) ask(ctx context.Context, server netip.Addr, name string) (answer, error) {
	fail := func(err error) (answer, error) {
		return answer{}, fmt.Errorf("%s asks %s for %s: %w", p.name, server, name, err)
	}
	began := time.Now()
	connection, err := p.DialContext(ctx, "udp", netip.AddrPortFrom(server, 53).String())
	if err != nil {
		return fail(err)
	}
	defer connection.Close()
	query := new(dns.Msg).SetQuestion(name, dns.TypeA)
	asker := dns.Client{Timeout: patience}
	reply, _, err := asker.ExchangeWithConnContext(ctx, query, &dns.Conn{Conn: connection})
	if err != nil {
		return fail(err)
	}
	got := answer{took: time.Since(began)}
	for _, record := range append(reply.Answer, reply.Extra...) {
		switch r := record.(type) {
		case *dns.A:
			got.address, _ = netip.AddrFromSlice(r.A.To4())
		case *dns.TXT:
			got.trace = r.Txt
		}
	}
	if !got.address.IsValid() {
		return fail(mismatch{"the answer", "an address", dns.RcodeToString[reply.Rcode] + " without one"})
	}
	return got, nil
}

// visit is one connection to a web server. It never opens a second one, for
// which a name would have to be asked again.
type visit struct {
	connection net.Conn
	client     http.Client
}

var errSecondConnection = errors.New("the web server closed the connection early")

func (p person) visit(ctx context.Context, to netip.AddrPort) (*visit, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, err := p.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, fmt.Errorf("%s connects to %s: %w", p.name, to, err)
	}
	v := &visit{connection: connection}
	var used atomic.Bool
	v.client.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errSecondConnection
		}
		return connection, nil
	}}
	return v, nil
}

func (v *visit) local() netip.AddrPort  { return addrPort(v.connection.LocalAddr()) }
func (v *visit) remote() netip.AddrPort { return addrPort(v.connection.RemoteAddr()) }

func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), tcp.AddrPort().Port())
}

func (v *visit) close() {
	if v != nil {
		_ = v.connection.Close() // nothing is left to be sent
	}
}

func (v *visit) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.remote().String()+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := v.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch http://%s%s: %w", v.remote(), path, err)
	}
	return response, nil
}

// page fetches a server's page: what it says, and where it saw us come from.
func (v *visit) page(ctx context.Context) (says string, from string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	response, err := v.get(ctx, "/")
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", "", fmt.Errorf("read the page from %s: %w", v.remote(), err)
	}
	says, from, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n"+youCameFrom)
	return says, from, nil
}

// stream counts the lines that keep coming from a server.
type stream struct {
	name   string // of the server that they should be from
	lines  atomic.Int64
	broken atomic.Pointer[error]
}

// stream asks for lines until the connection is closed or ctx ends.
func (v *visit) stream(ctx context.Context, name string) (*stream, error) {
	response, err := v.get(ctx, "/stream")
	if err != nil {
		return nil, err
	}
	s := &stream{name: name}
	go func() {
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if from, _, _ := strings.Cut(lines.Text(), " "); from != name {
				s.fail(mismatch{"a line came from the wrong host", name, from})
				return
			}
			s.lines.Add(1)
		}
		s.fail(fmt.Errorf("the lines from %s ended: %w", name, errors.Join(lines.Err(), io.EOF)))
	}()
	return s, nil
}

func (s *stream) fail(err error) { s.broken.Store(&err) }

// more waits for n more lines.
func (s *stream) more(ctx context.Context, n int64) error {
	target := s.lines.Load() + n
	return await(ctx, fmt.Sprintf("%d more lines from %s", n, s.name), func() (bool, string, error) {
		if err := s.broken.Load(); err != nil {
			return false, "", *err
		}
		left := target - s.lines.Load()
		return left <= 0, fmt.Sprintf("%d are missing", left), nil
	})
}

// download is a large file on its way.
type download struct {
	octets   atomic.Int64
	finished chan struct{}
	sum      hash.Hash
	promised string // the server's checksum of what it sent
	err      error
}

// download starts to fetch the large file.
func (v *visit) download(ctx context.Context) (*download, error) {
	response, err := v.get(ctx, "/download")
	if err != nil {
		return nil, err
	}
	d := &download{finished: make(chan struct{}), sum: sha256.New()}
	go func() {
		defer close(d.finished)
		defer response.Body.Close()
		_, d.err = io.Copy(io.MultiWriter(d.sum, d), response.Body)
		d.promised = response.Trailer.Get(checksumTrailer)
	}()
	return d, nil
}

// Write counts what arrives.
func (d *download) Write(p []byte) (int, error) {
	d.octets.Add(int64(len(p)))
	return len(p), nil
}

// more waits for n more octets, or the end of the file.
func (d *download) more(ctx context.Context, n int64) error {
	target := d.octets.Load() + n
	return await(ctx, "the download goes on", func() (bool, string, error) {
		select {
		case <-d.finished:
			return true, "", d.err
		default:
		}
		left := target - d.octets.Load()
		return left <= 0, fmt.Sprintf("%s are missing", size(left)), nil
	})
}

// checksum returns what arrived in all, as SHA-256 in hexadecimal.
func (d *download) checksum() string { return hex.EncodeToString(d.sum.Sum(nil)) }

func size(octets int64) string { return fmt.Sprintf("%.1f MB", float64(octets)/1e6) }
