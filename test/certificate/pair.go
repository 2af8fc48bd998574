package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"testing"
	"time"
)

// Pair is a certificate and its key.
type Pair struct {
	*x509.Certificate
	Key *ecdsa.PrivateKey
}

// SelfSigned makes one that nobody has signed but its key, of a template as Authority.Issue takes it.
func SelfSigned(t testing.TB, template x509.Certificate) Pair {
	t.Helper()
	p, err := made(template, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ForNames is the template of a server of these names.
func ForNames(names ...string) x509.Certificate {
	return x509.Certificate{DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}

// made makes one by a template, signed by another, or by itself.
func made(template x509.Certificate, by *Pair) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	if template.SerialNumber == nil {
		if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
			return Pair{}, err
		}
	}
	if template.Subject.CommonName == "" {
		template.Subject = pkix.Name{CommonName: "rg-test"}
	}
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(48 * time.Hour)
	}
	parent, signer := &template, key
	if by != nil {
		parent, signer = by.Certificate, by.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, err
	}
	c, err := x509.ParseCertificate(der)
	return Pair{c, key}, err
}

// TLS is the pair as programs in Go take it.
func (p Pair) TLS() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{p.Raw}, PrivateKey: p.Key, Leaf: p.Certificate}
}

// PEM are the certificate and its key in PEM.
func (p Pair) PEM(t testing.TB) (certificate, key []byte) {
	t.Helper()
	secret, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// Write writes both into files that only their owner reads; a file without a name is not written.
func (p Pair) Write(t testing.TB, certificate, key string) {
	t.Helper()
	c, k := p.PEM(t)
	for name, text := range map[string][]byte{certificate: c, key: k} {
		if name == "" {
			continue
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Pool trusts the certificate alone.
func (p Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate)
	return pool
}
