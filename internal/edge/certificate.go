package edge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/settings"
)

// certified is a certificate with its key.
type certified = tls.Certificate

// certificate is ours: of the files that the configuration names, else of a key that is made once and kept.
func certificate(kept Store, file string, c settings.Edges) (tls.Certificate, error) {
	if c.Chain != "" {
		pair, err := tls.LoadX509KeyPair(c.Paths(file))
		if err != nil {
			return pair, fmt.Errorf("edges.certificate: %w", err)
		}
		return pair, nil
	}
	key, err := ownKey(kept)
	if err != nil {
		return tls.Certificate{}, err
	}
	name := strings.TrimSuffix(c.Name.String(), ".")
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280 §4.1.2.5: no end; peers know the key
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the edge's certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// ownKey is the kept key, or one that is kept from now on.
func ownKey(kept Store) (*ecdsa.PrivateKey, error) {
	var found *ecdsa.PrivateKey
	err := kept.Each(bucket, func(key string, value []byte) error {
		if key != keyOfOwn {
			return nil
		}
		parsed, err := x509.ParsePKCS8PrivateKey(value)
		if err != nil {
			return fmt.Errorf("read the edge's key: %w", err)
		}
		own, is := parsed.(*ecdsa.PrivateKey)
		if !is {
			return fmt.Errorf("the edge's key is a %T", parsed)
		}
		found = own
		return nil
	})
	if err != nil || found != nil {
		return found, err
	}
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the edge's key: %w", err)
	}
	value, err := x509.MarshalPKCS8PrivateKey(made)
	if err != nil {
		return nil, fmt.Errorf("write the edge's key: %w", err)
	}
	if err := kept.Change(bucket, map[string][]byte{keyOfOwn: value}, nil); err != nil {
		return nil, fmt.Errorf("keep the edge's key: %w", err)
	}
	return made, nil
}

// pinOf is what peers have of a certificate in their configuration.
func pinOf(c certified) (string, error) {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return "", fmt.Errorf("read the edge's certificate: %w", err)
	}
	pin := link.Pin(leaf)
	return "sha256/" + base64.StdEncoding.EncodeToString(pin[:]), nil
}

// ours is the certificate in force.
func (s *Service) ours() tls.Certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.certified
}
