package link

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// Pin is what a configuration knows a key by: SHA-256 of the certificate's SubjectPublicKeyInfo (RFC 7469 §2.4).
func Pin(cert *x509.Certificate) [32]byte { return sha256.Sum256(cert.RawSubjectPublicKeyInfo) }

// verify says whether a connection's certificates are the peer's. A pin is enough of itself: its name and dates say nothing that the
// administrator of both has not said better (as RFC 7671 §5.1 has it for DANE-EE).
func (p Peer) verify(s tls.ConnectionState, at time.Time) error {
	switch {
	case s.NegotiatedProtocol != wire.ALPN:
		return ErrALPN
	case len(s.PeerCertificates) == 0:
		return ErrHandshake
	case len(p.Pins) == 0:
		return VerifyChain(s.PeerCertificates, p.Roots, p.Name, at)
	case !slices.Contains(p.Pins, Pin(s.PeerCertificates[0])):
		return ErrPin
	}
	return nil
}

// VerifyChain says whether one of the authorities vouches for a peer's certificate, the first of the chain, and for its name. It is one
// for servers, as every public authority issues them, also where the peer dials us: a client's own purpose is not asked for.
// ErrExpired, ErrAuthority or ErrName.
func VerifyChain(chain []*x509.Certificate, roots *x509.CertPool, name model.Name, at time.Time) error {
	if roots == nil { // x509 would take those of the machine
		return ErrAuthority
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: at})
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return fmt.Errorf("%w: %w", ErrExpired, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAuthority, err)
	}
	if err := chain[0].VerifyHostname(strings.TrimSuffix(name.String(), ".")); err != nil {
		return fmt.Errorf("%w: %w", ErrName, err)
	}
	return nil
}

// secure is how a connection with one of these peers is secured: both show a certificate, each handshake anew.
func (l *Links) secure(candidates []*peer) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{wire.ALPN},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		InsecureSkipVerify:     true, //nolint:gosec // VerifyConnection does it
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c := l.o.Certificate()
			return &c, nil
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c := l.o.Certificate()
			return &c, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			_, err := whose(candidates, s)
			return err
		},
	}
}

// whose is the first of the peers whose certificate a connection has shown, or why it is none's.
func whose(candidates []*peer, s tls.ConnectionState) (*peer, error) {
	var why error
	for _, p := range candidates {
		err := p.configured().verify(s, time.Now())
		if err == nil {
			return p, nil
		}
		if why == nil || errors.Is(why, ErrPin) { // of a certificate that has its own reason: that one
			why = err
		}
	}
	if why == nil {
		why = ErrPin
	}
	return nil, why
}

// common is the version to speak with one that says this range: the newest that both know.
func common(theirs [2]int, ours [2]int) (int, error) {
	newest := min(theirs[1], ours[1])
	if newest < max(theirs[0], ours[0]) || theirs[0] > theirs[1] {
		return 0, fmt.Errorf("%w: the peer speaks %d to %d, we speak %d to %d", ErrVersion, theirs[0], theirs[1], ours[0], ours[1])
	}
	return newest, nil
}
