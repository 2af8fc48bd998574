package access

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/test/certificate"
)

// pair is a certificate with a number, and its key, as PEM.
func pair(t *testing.T, number int64) (public, secret []byte) {
	t.Helper()
	return certificate.SelfSigned(t, x509.Certificate{SerialNumber: big.NewInt(number)}).PEM(t)
}

// A file that is renewed is in force at the next connection, one that is half written never is, and the log says so once.
func TestCertificatesAreRenewed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	name := func(file string) string { return filepath.Join(folder, file) }
	changed := time.Now().Add(-time.Hour)
	write := func(file string, text []byte) {
		t.Helper()
		if err := os.WriteFile(name(file), text, 0o600); err != nil {
			t.Fatal(err)
		}
		changed = changed.Add(time.Second) // the clock of the disk is coarse
		if err := os.Chtimes(name(file), changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	first, key := pair(t, 1)
	write("crt", first)
	write("key", key)
	write("ca", first)
	var log strings.Builder
	c, err := openCertificates(name("crt"), name("key"), name("ca"), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := func(when string, number int64, told int) {
		t.Helper()
		now := c.now()
		if got := now.Certificates[0].Leaf.SerialNumber.Int64(); got != number || now.ClientAuth != tls.VerifyClientCertIfGiven {
			t.Errorf("%s: certificate %d, %v, want %d", when, got, now.ClientAuth, number)
		}
		if got := strings.Count(log.String(), "certificate not renewed"); got != told {
			t.Errorf("%s: told %d times, want %d:\n%s", when, got, told, log.String())
		}
	}
	want("at first", 1, 0)
	second, key := pair(t, 2)
	write("crt", second) // its key comes next
	want("half renewed", 1, 1)
	want("still so", 1, 1)
	write("key", key)
	want("renewed", 2, 1)
	write("ca", []byte("none"))
	want("without a CA", 2, 2)
	write("ca", first)
	want("mended", 2, 2)
}

func TestCertificatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certificate, key := pair(t, 1)
	_, other := pair(t, 2)
	for name, c := range map[string]struct {
		certificate, key, ca []byte
		want                 string
	}{
		"none":            {nil, key, nil, "read api.certificate and api.key: "},
		"another's key":   {certificate, other, nil, "private key does not match public key"},
		"no CA":           {certificate, key, []byte("a"), "read api.client_ca: "},
		"as it should be": {certificate, key, certificate, ""},
	} {
		at := func(kind string, text []byte) string {
			path := filepath.Join(folder, name+"."+kind)
			if text != nil {
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return path
		}
		ca := ""
		if c.ca != nil {
			ca = at("ca", c.ca)
		}
		_, err := openCertificates(at("crt", c.certificate), at("key", c.key), ca, slog.New(slog.DiscardHandler))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
