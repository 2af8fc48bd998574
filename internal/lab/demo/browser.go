package demo

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// browser reads web sites as browsers do: it remembers addresses, keeps connections for the next page, and has one for each
// name.
type browser struct {
	person
	resolver netip.Addr
	client   http.Client

	mutex  sync.Mutex // guards what follows
	known  map[string]answer
	asked  int // questions to the resolver
	opened int // connections
}

func newBrowser(of person, resolver netip.Addr) *browser {
	b := &browser{person: of, resolver: resolver, known: map[string]answer{}}
	b.client.Transport = &http.Transport{
		DialContext: b.dial,
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // nobody has signed it: whose it is is looked at all the same
			VerifyConnection: func(c tls.ConnectionState) error {
				return c.PeerCertificates[0].VerifyHostname(c.ServerName)
			},
		},
	}
	return b
}

// dial connects to the address of a name, which it asks for once.
func (b *browser) dial(ctx context.Context, _, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if _, known := b.known[name]; !known {
		if b.known[name], err = b.ask(ctx, b.resolver, name+"."); err != nil {
			delete(b.known, name)
			return nil, err
		}
		b.asked++
	}
	b.opened++
	return b.DialContext(ctx, "tcp", net.JoinHostPort(b.known[name].address.String(), port))
}

// read is the page of a site: what it says, and where its server saw us come from.
func (b *browser) read(ctx context.Context, site string) (says, from string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+site+"/", nil)
	if err != nil {
		return "", "", err
	}
	response, err := b.client.Do(request)
	if err != nil {
		return "", "", fmt.Errorf("%s reads https://%s/: %w", b.name, site, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", "", fmt.Errorf("%s reads https://%s/: %w", b.name, site, err)
	}
	says, from, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n"+youCameFrom)
	return says, from, nil
}

// leave closes its connections. What it knows it keeps.
func (b *browser) leave() { b.client.CloseIdleConnections() }
