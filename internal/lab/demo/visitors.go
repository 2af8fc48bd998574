package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
)

// visitors are who came to a host's web server. The server is of this process, and tells it who came: a page that said so
// would carry a private address between the edges.
type visitors struct {
	server *http.Server
	came   chan netip.Addr
}

// serveVisitors serves somebody's greeting.
func serveVisitors(who person, port uint16) (*visitors, error) {
	listener, err := who.Listen("tcp4", netip.AddrPortFrom(who.IP, port).String())
	if err != nil {
		return nil, err
	}
	v := &visitors{came: make(chan netip.Addr, 16)}
	v.server = &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			http.Error(w, "who are you?", http.StatusBadRequest)
			return
		}
		select {
		case v.came <- from.Addr():
		default: // nobody waits for so many
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, greeting(who.name)) // who does not get it says so
	})}
	go func() { _ = v.server.Serve(listener) }() // it ends with close
	return v, nil
}

// next is who came next.
func (v *visitors) next(ctx context.Context) (netip.Addr, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errLate)
	defer cancel()
	select {
	case from := <-v.came:
		return from, nil
	case <-ctx.Done():
		return netip.Addr{}, fmt.Errorf("nobody came to the web server: %w", context.Cause(ctx))
	}
}

func (v *visitors) close() {
	if v != nil {
		_ = v.server.Close() // nothing is left to be sent
	}
}

// fetchByName reads the page of a name at an address, as a browser does that has asked for the name.
func (p person) fetchByName(ctx context.Context, at netip.AddrPort, name string) (string, error) {
	v, err := p.visit(ctx, at)
	if err != nil {
		return "", err
	}
	defer v.close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+name+"/", nil)
	if err != nil {
		return "", err
	}
	response, err := v.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("%s fetches http://%s/ at %s: %w", p.name, name, at, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return strings.TrimSuffix(string(text), "\n"), err
}
