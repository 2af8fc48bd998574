package access

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/access/settings"
	"github.com/realmgate/realmgate/internal/api"
)

// listener is an address at which the API is served.
type listener struct {
	net.Listener
	at  netip.AddrPort
	log *slog.Logger

	mutex   sync.Mutex // guards what follows
	handler http.Handler
	secrets *certificates // nil: there is no TLS

	end     context.CancelFunc // nil while it is not served
	serving *sync.WaitGroup    // of all listeners
}

// openListener listens. The address may come later: an interface that is down keeps no gateway from starting.
func openListener(at netip.AddrPort, serving *sync.WaitGroup, log *slog.Logger) (*listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) {
			if at.Addr().Is4() {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1)
			} else {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)
			}
		})
		if failed != nil {
			return failed
		}
		return err
	}}
	l, err := config.Listen(context.Background(), "tcp", at.String())
	if err != nil {
		return nil, fmt.Errorf("serve the control API at %s: %w", at, err)
	}
	return &listener{Listener: newLimitListener(l), at: at, serving: serving, log: log}, nil
}

// configure says what is served from now on.
func (l *listener) configure(h http.Handler, secrets *certificates) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.handler, l.secrets = h, secrets
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mutex.Lock()
	h := l.handler
	l.mutex.Unlock()
	h.ServeHTTP(w, r)
}

// names are those that requests at an address may be for.
func names(at netip.Addr, c settings.API) []string {
	all := []string{at.String()}
	if at.IsLoopback() {
		all = append(all, "localhost")
	}
	for _, n := range c.Names {
		all = append(all, strings.TrimSuffix(n.String(), "."))
	}
	return all
}

// Accept implements net.Listener: with TLS where that is configured.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mutex.Lock()
	secrets := l.secrets
	l.mutex.Unlock()
	if secrets != nil {
		c = tls.Server(c, secrets.now())
	}
	return c, nil
}

// start serves until ctx ends or the listener is closed.
func (l *listener) start(ctx context.Context) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.end != nil {
		return
	}
	ctx, l.end = context.WithCancel(ctx)
	l.serving.Go(func() {
		if err := api.ServeRemote(ctx, l, l, l.log); err != nil {
			l.log.Error("control API not served", "address", l.at, "error", err)
		}
	})
}

// close ends what is asked there, and listens no more. It waits for nobody: a reload that is asked there gets its answer.
func (l *listener) close() {
	l.mutex.Lock()
	end := l.end
	l.mutex.Unlock()
	if end != nil {
		end()
	}
	_ = l.Close() // a second time for one that was served
}
