package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificates are those of a listener, from files that somebody renews: what they say when a connection begins is in force.
type certificates struct {
	files [3]string // certificate, key and, where clients have some, their CA
	log   *slog.Logger

	mutex sync.Mutex // guards what follows
	seen  [3]stamp
	last  *tls.Config
	told  bool // that files cannot be read; what was read before holds
}

// stamp is by what one sees that a file was changed.
type stamp struct {
	time time.Time
	size int64
}

// openCertificates reads files, which others may write.
func openCertificates(certificate, key, clientCA string, log *slog.Logger) (*certificates, error) {
	c := &certificates{files: [3]string{certificate, key, clientCA}, log: log}
	var err error
	c.seen = c.look()
	c.last, err = c.read()
	return c, err
}

// now is for a connection: what the files say then, or, if that cannot be used, said before.
func (c *certificates) now() *tls.Config {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	seen := c.look()
	if seen == c.seen {
		return c.last
	}
	next, err := c.read()
	switch {
	case err == nil:
		c.last, c.seen, c.told = next, seen, false
	case !c.told: // they may be written just now: it is tried again
		c.log.Warn("certificate not renewed", "error", err)
		c.told = true
	}
	return c.last
}

func (c *certificates) look() (seen [3]stamp) {
	for i, name := range c.files {
		if info, err := os.Stat(name); name != "" && err == nil {
			seen[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return seen
}

func (c *certificates) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return nil, fmt.Errorf("read api.certificate and api.key: %w", err)
	}
	made := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if c.files[2] == "" {
		return made, nil
	}
	text, err := os.ReadFile(c.files[2])
	if err != nil {
		return nil, fmt.Errorf("read api.client_ca: %w", err)
	}
	made.ClientAuth, made.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
	if !made.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read api.client_ca: %s: %w", c.files[2], errors.New("there is no certificate in it"))
	}
	return made, nil
}
