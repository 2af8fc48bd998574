package demo

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

const (
	securePort       = 443  // what browsers connect to
	secureInsidePort = 8443 // where the hosts inside serve web sites
)

// castSites makes somebody serve web sites by HTTPS, as castWeb does.
func (s *stage) castSites(who person, port uint16, sites ...string) error {
	listener, err := who.Listen("tcp4", netip.AddrPortFrom(who.IP, port).String())
	if err != nil {
		return err
	}
	defer listener.Close()
	return s.cast(who, listener.(*net.TCPListener), append([]string{partSites, who.name}, sites...)...)
}

// serveSites serves a page for each site of a host, with the host's own certificate. What is for another name is answered by
// 421, as RFC 9110 section 15.5.20 has it.
func serveSites(ctx context.Context, listener net.Listener, name string, sites []string) error {
	certificate, err := certificateOf(sites)
	if err != nil {
		return err
	}
	pages := http.NewServeMux()
	for _, site := range sites {
		pages.HandleFunc(site+"/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = fmt.Fprintf(w, "%s\n%s%s\n", sitePage(site, name), youCameFrom, r.RemoteAddr) //nolint:gosec // G705: plain text, of our own words and the socket's address
		})
	}
	pages.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMisdirectedRequest) })
	server := &http.Server{
		Handler: pages, ReadHeaderTimeout: patience, ErrorLog: log.New(io.Discard, "", 0), // who goes away early is no error of ours
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// sitePage is what a site's page says.
func sitePage(site, host string) string {
	label, _, _ := strings.Cut(site, ".")
	return fmt.Sprintf("This is %s, on %s.", label, host)
}

// certificateOf makes a certificate that nobody has signed but its host.
func certificateOf(names []string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
