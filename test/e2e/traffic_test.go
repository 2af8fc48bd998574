package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// page is what a webServer serves.
type page string

// ServeHTTP implements http.Handler.
func (p page) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodPost {
		n, _ := io.Copy(io.Discard, request.Body)
		fmt.Fprintln(w, n)
		return
	}
	if n := request.URL.Query().Get("octets"); n != "" {
		var octets int64
		_, _ = fmt.Sscan(n, &octets)
		_, _ = io.CopyN(w, zeros{}, octets)
		return
	}
	fmt.Fprintln(w, string(p))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// ask sends one question of a node to a name server, over udp or tcp.
func ask(from netns.Node, network string, server netip.Addr, name string, kind uint16) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
	defer cancel()
	connection, err := from.DialContext(ctx, network, netip.AddrPortFrom(server, 53).String())
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	client := dns.Client{Net: network, Timeout: 8 * time.Second}
	answer, _, err := client.ExchangeWithConn(new(dns.Msg).SetQuestion(name, kind), &dns.Conn{Conn: connection})
	return answer, err
}

// lent asks the gateway over TCP for the address of a name.
func lent(from netns.Node, gateway *netns.Gateway, name string) (netip.Addr, error) {
	answer, err := ask(from, "tcp", gateway.PublicAddress, name, dns.TypeA)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, record := range answer.Answer {
		if a, ok := record.(*dns.A); ok {
			address, _ := netip.AddrFromSlice(a.A.To4())
			return address, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address for %s: %s", name, dns.RcodeToString[answer.Rcode])
}

func (r *realm) mustLend(from netns.Node, name string) netip.Addr {
	r.t.Helper()
	address, err := lent(from, r.Gateway, name)
	if err != nil {
		r.t.Fatal(err)
	}
	return address
}

// echoServers makes every host answer on UDP port 7 with its name.
func (r *realm) echoServers() {
	r.t.Helper()
	for i, h := range r.Hosts() {
		echoServer(r.t, h, 7, hostName(i))
	}
}

// echoServer answers every datagram with text, and then what came.
func echoServer(t *testing.T, at netns.Node, port int, text string) {
	t.Helper()
	connection, err := at.ListenPacket("udp4", fmt.Sprintf("%s:%d", at.IP, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	go func() {
		buffer := make([]byte, 2048)
		for {
			n, from, err := connection.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = connection.WriteTo(append([]byte(text+" "), buffer[:n]...), from)
		}
	}()
}

// echo sends one datagram, once, and returns who answered.
func echo(from netns.Node, local netip.AddrPort, to netip.AddrPort) (string, error) {
	connection, err := from.DialFrom(context.Background(), "udp4", local, to.String())
	if err != nil {
		return "", err
	}
	defer connection.Close()
	return echoOn(connection)
}

func echoOn(connection net.Conn) (string, error) {
	if _, err := connection.Write([]byte("x")); err != nil {
		return "", err
	}
	_ = connection.SetReadDeadline(time.Now().Add(4 * time.Second))
	buffer := make([]byte, 2048)
	n, err := connection.Read(buffer)
	if err != nil {
		return "", err
	}
	who, _, _ := strings.Cut(string(buffer[:n]), " ")
	return who, nil
}

// iperfServer runs iperf3 -s on a node until the test ends.
func iperfServer(t *testing.T, at netns.Node, port int) {
	t.Helper()
	server := at.Command(context.Background(), "iperf3", "-s", "-B", at.IP.String(), "-p", fmt.Sprint(port))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "iperf3 listens", func() bool {
		// Asked by ss, as a connection would count as a test.
		out, err := at.Command(context.Background(), "ss", "-Hltn", fmt.Sprintf("sport = :%d", port)).Output()
		return err == nil && len(out) > 0
	})
}

// transfer is what an iperf3 client measured.
type transfer struct {
	Error     string
	Intervals []struct {
		Sum struct{ Bytes float64 }
	}
	End struct {
		Sent     struct{ Bytes float64 } `json:"sum_sent"`
		Received struct{ Bytes float64 } `json:"sum_received"`
		Back     struct{ Bytes float64 } `json:"sum_received_bidir_reverse"`
		Sum      struct{ Bytes float64 } // UDP
	}
}

// iperf runs an iperf3 client in intervals of half a second.
func iperf(from netns.Node, server netip.Addr, port int, flags ...string) (transfer, error) {
	arguments := append([]string{"-J", "-i", "0.5", "-c", server.String(), "-p", fmt.Sprint(port)}, flags...)
	out, failed := from.Command(context.Background(), "iperf3", arguments...).Output()
	var done transfer
	if err := json.Unmarshal(out, &done); err != nil {
		return done, fmt.Errorf("iperf3 %v: %w: %s", arguments, failed, out)
	}
	if done.Error != "" {
		return done, fmt.Errorf("iperf3 %v: %s", arguments, done.Error)
	}
	return done, failed
}

// stall is the longest time without a byte.
func (t transfer) stall() time.Duration {
	var longest, now time.Duration
	for _, i := range t.Intervals {
		now += 500 * time.Millisecond
		if i.Sum.Bytes > 0 {
			now = 0
		}
		longest = max(longest, now)
	}
	return longest
}

// fileServer serves the files below a folder.
func fileServer(t *testing.T, at netns.Node, port int, folder string) {
	t.Helper()
	listener, err := at.Listen("tcp4", fmt.Sprintf("%s:%d", at.IP, port))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(folder)), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}
