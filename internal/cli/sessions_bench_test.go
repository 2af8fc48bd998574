package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// BenchmarkSessions lists a million sessions, from their lines to what is printed.
func BenchmarkSessions(b *testing.B) {
	const all = 1_000_000
	var lines []byte
	for n := range all {
		address := netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})
		line, err := json.Marshal(client.Session{
			Protocol: model.UDP, Private: netip.AddrPortFrom(address, uint16(n)),
			External: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, 2}), uint16(n*7)),
			Remote:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(n >> 4)}), 443),
			State:    "open", Origin: "inside", Host: fmt.Sprint("host", n&1023, ".foo.example."),
			Age: float64(n%4000) * 0.268435456, Idle: float64(n%400) * 0.268435456,
		})
		if err != nil {
			b.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	socket := filepath.Join(b.TempDir(), "gateway.sock")
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(lines) })}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	for _, output := range []string{"table", "json"} {
		b.Run(output, func(b *testing.B) {
			for b.Loop() {
				out := bufio.NewWriter(io.Discard)
				if code := newApp(out, io.Discard).main(b.Context(), []string{"sessions", "-o", output, "--socket", socket}); code != exitOK {
					b.Fatal(code)
				}
			}
		})
	}
}
