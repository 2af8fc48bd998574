package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// worksSize is how much the programs fetch and send.
const worksSize = 1_000_000

// serve starts what the programs talk to.
func (w *works) serve() {
	w.t.Helper()
	webServer(w.t, w.host, 8080, hostName(0))
	listener, err := w.server.Listen("tcp4", ":8080") // also at the addresses of tunnels
	w.must(err)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		out.Header().Set("Seen", request.RemoteAddr)
		page("").ServeHTTP(out, request)
	})}
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(func() { _ = server.Close() })
	w.must(os.WriteFile(w.file("body"), make([]byte, worksSize), 0o600))
	iperfServer(w.t, w.server, 5201)
	w.vsftpd(w.server, worksSize)
	quicServer(w.t, w.server, 8443)
	w.nsd()
	sipp := w.server.Command(w.t.Context(), "sipp", "-sn", "uas", "-i", w.server.IP.String(), "-p", "5060", "-nostdin", "-skip_rlimit")
	w.must(sipp.Start())
	eventually(w.t, 10*time.Second, "sipp listens", func() bool { return listens(w.server, 5060) == nil })
}

func (w *works) file(name string) string { return filepath.Join(w.directory, name) }

// run runs a program at the host; what it says is in the error.
func (w *works) run(ctx context.Context, name string, arguments ...string) error {
	out, err := w.host.Command(ctx, name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, arguments, err, out[max(0, len(out)-2000):])
	}
	return nil
}

// curlOut fetches and sends, and the server sees the address that it has to.
func curlOut(_ context.Context, w *works, fill func()) error {
	fill()
	seen, err := curl(w.host, w.server.IP, 8080, "--head")
	if err == nil && !strings.Contains(seen, "Seen: "+w.outbound.String()+":") {
		err = fmt.Errorf("the server does not see %s: %s", w.outbound, seen)
	}
	return errors.Join(err, w.pages(w.host, w.server.IP, 8080))
}

// pages fetches and sends a megabyte.
func (w *works) pages(from netns.Node, to netip.Addr, port int) error {
	page, err := curl(from, to, port, "--url-query", fmt.Sprint("octets=", worksSize), "--max-time", "30")
	if err == nil && len(page) != worksSize {
		err = fmt.Errorf("fetched %d octets", len(page))
	}
	if err != nil {
		return err
	}
	page, err = curl(from, to, port, "--data-binary", "@"+w.file("body"), "--max-time", "30")
	if err == nil && strings.TrimSpace(page) != fmt.Sprint(worksSize) {
		err = fmt.Errorf("%q octets came", page)
	}
	return err
}

// curlByName fetches and sends from outside: by the host's name, from the kernel by its port.
func curlByName(_ context.Context, w *works, fill func()) error {
	fill()
	address, err := w.published()
	if err != nil {
		return err
	}
	return w.pages(w.client, address, 80)
}

// iperfBothWays sends by TCP, both ways at once. How much is for benchmarks to say; a stream that
// loses all its full packets brings less than this. So does one whose first packets a full link lost, which
// may take a second to come again: it may try anew.
func iperfBothWays(_ context.Context, w *works, fill func()) error {
	fill()
	var err error
	for range 3 {
		var done transfer
		done, err = iperf(w.host, w.server.IP, 5201, "--bidir", "-t", "1")
		if err == nil && min(done.End.Received.Bytes, done.End.Back.Bytes) >= worksSize/10 {
			return nil
		}
		err = errors.Join(err, fmt.Errorf("iperf3: %.0f octets came, %.0f came back", done.End.Received.Bytes, done.End.Back.Bytes))
	}
	return err
}

// ftpOut fetches a file in passive mode.
func ftpOut(ctx context.Context, w *works, fill func()) error {
	fill()
	to := w.file("fetched")
	if err := w.run(ctx, "curl", "-sS", "--max-time", "20", "-o", to, fmt.Sprintf("ftp://%s/file", w.server.IP)); err != nil {
		return err
	}
	info, err := os.Stat(to)
	if err == nil && info.Size() != worksSize {
		err = fmt.Errorf("fetched %d octets", info.Size())
	}
	return errors.Join(err, os.Remove(to))
}

// quicOut has a megabyte sent back to it by QUIC.
func quicOut(ctx context.Context, w *works, fill func()) error {
	fill()
	socket, err := w.host.ListenPacket("udp4", w.host.IP.String()+":0")
	if err != nil {
		return err
	}
	defer socket.Close()
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(w.server.IP, 8443))
	connection, err := quic.Dial(ctx, socket, to, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"echo"}}, &quic.Config{}) //nolint:gosec // the test's own server
	if err != nil {
		return err
	}
	defer connection.CloseWithError(0, "") //nolint:errcheck // it is over
	stream, err := connection.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := stream.Write(make([]byte, worksSize))
		sent <- errors.Join(err, stream.Close())
	}()
	_ = stream.SetReadDeadline(time.Now().Add(30 * time.Second))
	n, err := io.Copy(io.Discard, stream)
	if err = errors.Join(err, <-sent); err == nil && n != worksSize {
		err = fmt.Errorf("%d octets came back", n)
	}
	return err
}

// pingOut sends echoes that fill a frame, and looks for the gateway on the way as traceroute does.
func pingOut(ctx context.Context, w *works, _ func()) error {
	if err := w.run(ctx, "ping", "-c", "3", "-i", "0.2", "-W", "5", "-M", "do", "-s", "1472", w.server.IP.String()); err != nil {
		return err
	}
	for hops := range 8 {
		for range 3 { // routers may limit what they tell
			out, err := w.host.Command(ctx, "ping", "-c", "1", "-W", "2", "-t", fmt.Sprint(1+hops), w.server.IP.String()).CombinedOutput()
			told := bytes.Contains(out, []byte("Time to live exceeded"))
			if told && bytes.Contains(out, []byte("From "+w.Gateway.PrivateAddress.String()+" ")) {
				return nil
			}
			if told || err == nil {
				break
			}
		}
	}
	return errors.New("the gateway is nowhere on the way")
}
