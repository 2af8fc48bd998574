package browser

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/test/certificate"
)

// certifier signs certificates that the test's browsers trust.
type certifier struct {
	t         *testing.T
	directory string
	authority certificate.Authority
}

// newCertifier makes a certificate authority; its own certificate is ca.pem.
func (w *world) newCertifier() *certifier {
	w.t.Helper()
	c := &certifier{w.t, filepath.Join(w.directory, "certificates"), certificate.NewAuthority(w.t)}
	c.put("ca", c.authority.Pair)
	return c
}

// issue makes a certificate for names; nginx finds it as NAME.pem and NAME.key.
func (c *certifier) issue(name string, names ...string) {
	c.t.Helper()
	c.put(name, c.authority.Issue(c.t, certificate.ForNames(names...)))
}

func (c *certifier) put(name string, p certificate.Pair) {
	c.t.Helper()
	public, secret := p.PEM(c.t)
	write(c.t, c.path(name+".pem"), string(public))
	write(c.t, c.path(name+".key"), string(secret))
}

// pair makes a certificate for names, which no file has.
func (c *certifier) pair(names ...string) (*tls.Certificate, error) {
	p, err := c.authority.Sign(certificate.ForNames(names...))
	if err != nil {
		return nil, err
	}
	return p.TLS(), nil
}

func (c *certifier) path(file string) string { return filepath.Join(c.directory, file) }

// pool holds the authority, for programs in Go.
func (c *certifier) pool() *x509.CertPool {
	return c.authority.Pool()
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
