package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

// authority is Let's Encrypt's test server at a node.
type authority struct {
	t         *testing.T
	at        netns.Node
	directory string         // its URL, for ACME clients
	file      string         // has the certificate by which it speaks HTTPS, which is its own root
	roots     *x509.CertPool // the same
}

// build makes a program of the tools' module.
func (r *realm) build(path string) string {
	r.t.Helper()
	program := filepath.Join(r.directory, filepath.Base(path))
	if out, err := exec.Command("go", "build", "-C", "../../tools", "-buildvcs=false", "-o", program, path).CombinedOutput(); err != nil {
		r.t.Fatalf("build %s: %v: %s", path, err, out)
	}
	return program
}

// pebble runs an authority at a node, which asks the resolver there. It does not say when to ask again: Caddy 2.6 would not
// understand half of that.
func (r *realm) pebble(program string, at netns.Node) authority {
	r.t.Helper()
	address, file := netip.AddrPortFrom(at.IP, 14000), at.Name()+".pebble"
	a := authority{t: r.t, at: at, directory: "https://" + address.String() + "/dir", file: filepath.Join(r.directory, file+".pem")}
	a.roots = r.certificate(file, at.IP)
	r.put(file+".json", fmt.Sprintf(`{"pebble": {"listenAddress": "%s", "managementListenAddress": "%s:15000", "certificate": "%s", "privateKey": "%s.key",
		"httpPort": 80, "tlsPort": 443}}`, address, at.IP, a.file, filepath.Join(r.directory, file)))
	server := at.Command(context.Background(), program, "-config", filepath.Join(r.directory, file+".json"), "-dnsserver", at.IP.String()+":53")
	server.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_AUTHZREUSE=0")
	r.logs(server, file)
	eventually(r.t, 10*time.Second, "pebble listens", func() bool { return connects(at, address) == nil })
	return a
}

// logs starts a command that runs until the test ends, which tells what it said if it failed.
func (r *realm) logs(command *netns.Command, name string) {
	r.t.Helper()
	log, err := os.Create(filepath.Join(r.directory, name+".log"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer log.Close() // the process has its own copy
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if text, _ := os.ReadFile(log.Name()); r.t.Failed() {
			r.t.Logf("%s says:\n%s", name, text)
		}
	})
}

// http is a client of the authority's at a node.
func (a authority) http(from netns.Node) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots, MinVersion: tls.VersionTLS12}, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return from.DialContext(ctx, network, address)
	}}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// client is one for certificates, at a node.
func (a authority) client(from netns.Node) *acme.Client {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return &acme.Client{Key: key, DirectoryURL: a.directory, HTTPClient: a.http(from),
		RetryBackoff: func(int, *http.Request, *http.Response) time.Duration { return 100 * time.Millisecond }}
}

// root is the certificate, in PEM, that those which it issues are of.
func (a authority) root() string {
	a.t.Helper()
	response, err := a.http(a.at).Get("https://" + a.at.IP.String() + ":15000/roots/0")
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		a.t.Fatalf("pebble's root: %s, %v", response.Status, err)
	}
	return string(text)
}

// certificate writes one of an address, FILE.pem and FILE.key.
func (r *realm) certificate(file string, address netip.Addr) *x509.CertPool {
	r.t.Helper()
	own := certificate.SelfSigned(r.t, x509.Certificate{IPAddresses: []net.IP{address.AsSlice()}, IsCA: true, BasicConstraintsValid: true})
	public, secret := own.PEM(r.t)
	r.put(file+".pem", string(public))
	r.put(file+".key", string(secret))
	return own.Pool()
}
