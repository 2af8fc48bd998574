package certificate

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
)

// Authority signs what others trust that trust its Pair.
type Authority struct{ Pair }

// NewAuthority makes one.
func NewAuthority(t testing.TB) Authority {
	t.Helper()
	return Authority{SelfSigned(t, x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})}
}

// Issue makes a certificate. What the template leaves out of serial number, common name and dates is filled in: it is in force.
func (a Authority) Issue(t testing.TB, template x509.Certificate) Pair {
	t.Helper()
	p, err := a.Sign(template)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Sign is Issue where no test waits.
func (a Authority) Sign(template x509.Certificate) (Pair, error) { return made(template, &a.Pair) }
