package e2e

import (
	"crypto/x509"
	"net"
	"net/netip"
	"path/filepath"
	"time"
)

// collect has somebody listen for the NAT log, and throw it away.
func (w *watching) collect() net.PacketConn {
	w.realm.t.Helper()
	at, err := w.Gateway.ListenPacket("udp4", ipfixAt)
	if err != nil {
		w.realm.t.Fatal(err)
	}
	w.realm.t.Cleanup(func() { _ = at.Close() })
	go func() {
		for octets := make([]byte, 1<<16); ; {
			if _, _, err := at.ReadFrom(octets); err != nil {
				return
			}
		}
	}()
	return at
}

// certify gives the API a certificate that ends by then.
func (w *watching) certify(ends time.Duration) {
	w.realm.t.Helper()
	at := []net.IP{net.IPv4(127, 0, 0, 1)}
	w.signer.files(x509.Certificate{IPAddresses: at, NotAfter: time.Now().Add(ends)}, filepath.Join(w.directory, "api.crt"), filepath.Join(w.directory, "api.key"))
	if w.daemon != nil {
		w.give()
	}
}

func (w *watching) logStories() []story {
	to := netip.AddrPortFrom(w.Servers[0].IP, 7777)
	return []story{
		{
			alert: "RealmgateLogFailing", at: w.daemon,
			begin: func() {
				w.must(w.collector.Close())
				w.sendsFrom(w.Hosts()[0], 20_000, 40, to)
			},
			warns: "the log waits for sink flows", hints: []hint{{"realmgate status", "connection refused"}},
			end: func() {
				w.collect()
				w.sendsFrom(w.Hosts()[0], 21_000, 40, to)
			},
		},
		{alert: "RealmgateLogLost", at: w.daemon, past: true}, // of the same cause
		{
			alert: "RealmgateCertificateEnds", at: w.daemon,
			begin: func() { w.certify(72 * time.Hour) },
			end:   func() { w.certify(365 * 24 * time.Hour) },
		},
	}
}
