package natlog

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// A collector by TLS gets what it is sent where its certificate is signed as is wanted, and nothing elsewhere.
func TestCollectorByTLS(t *testing.T) {
	t.Parallel()
	lender := httptest.NewTLSServer(nil) // of a certificate for 127.0.0.1
	defer lender.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	heard := make(chan string, 4)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				defer func() { _ = conn.Close() }()
				word, _ := bufio.NewReader(conn).ReadString('>')
				heard <- word
			}(conn)
		}
	}()
	file := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	to := settings.Collector{Network: "tls", Host: listener.Addr().String()}
	for ca, want := range map[string]bool{file: true, "": false, "/dev/null": false} {
		out := newSyslog(settings.Sink{Syslog: to, CA: ca})
		n, err := out.deliver(t.Context(), []Record{mapping(MappingBegun, 1, 40000)})
		if (err == nil) != want || (n == 1) != want {
			t.Errorf("with certificates of %q: %d are delivered, %v", ca, n, err)
		}
		if ca == "/dev/null" { // it does not even connect
			continue
		}
		if got := <-heard; want != strings.HasSuffix(got, " <134>") {
			t.Errorf("with certificates of %q it hears %q", ca, got)
		}
		_ = out.close(t.Context())
	}
}
