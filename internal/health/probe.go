package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/httperror"
)

// Probe is how an endpoint is asked.
type Probe struct {
	Endpoint netip.AddrPort
	Path     string        // of an HTTP GET; "": a TCP connection is all
	Timeout  time.Duration // for all of it
}

// mostHeader bounds what an answer may bring before its body, which is not read: bytes.
const mostHeader = 64 << 10

// Ask connects to the endpoint, and asks for the path if there is one: status 200 to 399
// is good. Redirects are not followed. The error says in one line what is wrong.
func (p Probe) Ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	err := p.connect(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %s", p.Endpoint, p.Timeout)
	}
	return err
}

func (p Probe) connect(ctx context.Context) error {
	if p.Path != "" {
		return p.get(ctx)
	}
	var d net.Dialer
	connection, err := d.DialContext(ctx, "tcp4", p.Endpoint.String())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	_ = connection.Close() // that it stood is the answer
	return nil
}

func (p Probe) get(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Endpoint.String()+p.Path, nil)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", p.Path, err)
	}
	request.Header.Set("User-Agent", "realmgate")
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: mostHeader}
	defer transport.CloseIdleConnections()
	client := http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask for %s: %w", p.Path, httperror.WithoutAddress(err))
	}
	// A little, so that the peer sees an end and no reset.
	_, _ = io.CopyN(io.Discard, answer.Body, mostHeader)
	_ = answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 399 {
		return fmt.Errorf("%s answers %s", p.Path, answer.Status)
	}
	return nil
}
