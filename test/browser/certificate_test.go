package browser

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// certifier signs certificates that the test's browsers trust.
type certifier struct {
	t           *testing.T
	directory   string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	serial      int64
}

// newCertifier makes a certificate authority; its own certificate is ca.pem.
func (w *world) newCertifier() *certifier {
	w.t.Helper()
	c := &certifier{t: w.t, directory: filepath.Join(w.directory, "certificates")}
	c.key = c.newKey()
	template := c.template("test authority")
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	template.BasicConstraintsValid = true
	c.certificate = c.sign(template, template, c.key, "ca")
	return c
}

// issue makes a certificate for names; nginx finds it as NAME.pem and NAME.key.
func (c *certifier) issue(name string, names ...string) {
	c.t.Helper()
	template := c.template(names[0])
	template.DNSNames = names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	c.sign(template, c.certificate, c.newKey(), name)
}

func (c *certifier) template(common string) *x509.Certificate {
	c.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(c.serial), Subject: pkix.Name{CommonName: common},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
	}
}

func (c *certifier) newKey() *ecdsa.PrivateKey {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	return key
}

func (c *certifier) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey, name string) *x509.Certificate {
	c.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	write(c.t, c.path(name+".pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(c.t, c.path(name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		c.t.Fatal(err)
	}
	return certificate
}

// pair makes a certificate for names, which no file has.
func (c *certifier) pair(names ...string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.certificate, &key.PublicKey, c.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (c *certifier) path(file string) string { return filepath.Join(c.directory, file) }

// pool holds the authority, for programs in Go.
func (c *certifier) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.certificate)
	return pool
}

// trust makes both browsers on a machine trust the authority: Chromium by the
// database in its home, Firefox by the one in its profile.
func (c *certifier) trust(m *machine) error {
	for _, database := range []string{".pki/nssdb", "firefox"} {
		directory := filepath.Join(m.directory, database)
		write(c.t, filepath.Join(directory, "made-by-test"), "")
		for _, args := range [][]string{
			{"-N", "--empty-password"},
			{"-A", "-n", "test authority", "-t", "C,,", "-i", c.path("ca.pem")},
		} {
			all := append([]string{"-d", "sql:" + directory}, args...)
			if out, err := exec.Command("certutil", all...).CombinedOutput(); err != nil { // #nosec G204
				return fmt.Errorf("certutil: %w: %s", err, out)
			}
		}
	}
	return nil
}
