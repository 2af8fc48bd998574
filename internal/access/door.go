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

// door is an address at which the API is served.
type door struct {
	net.Listener
	at  netip.AddrPort
	log *slog.Logger

	mutex   sync.Mutex // guards what follows
	handler http.Handler
	secrets *certificates // nil: there is no TLS

	end     context.CancelFunc // nil while it is not served
	serving *sync.WaitGroup    // of all doors
}

// openDoor listens. The address may come later: an interface that is down keeps no gateway from starting.
func openDoor(at netip.AddrPort, serving *sync.WaitGroup, log *slog.Logger) (*door, error) {
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
	return &door{Listener: newCrowd(l), at: at, serving: serving, log: log}, nil
}

// furnish says what is served from now on.
func (d *door) furnish(h http.Handler, secrets *certificates) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.handler, d.secrets = h, secrets
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mutex.Lock()
	h := d.handler
	d.mutex.Unlock()
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

// Accept implements net.Listener: with TLS where that is furnished.
func (d *door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	secrets := d.secrets
	d.mutex.Unlock()
	if secrets != nil {
		c = tls.Server(c, secrets.now())
	}
	return c, nil
}

// start serves until ctx ends or the door is closed.
func (d *door) start(ctx context.Context) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.end != nil {
		return
	}
	ctx, d.end = context.WithCancel(ctx)
	d.serving.Go(func() {
		if err := api.ServeRemote(ctx, d, d, d.log); err != nil {
			d.log.Error("control API not served", "address", d.at, "error", err)
		}
	})
}

// close ends what is asked there, and listens no more. It waits for nobody: a reload that is asked there gets its answer.
func (d *door) close() {
	d.mutex.Lock()
	end := d.end
	d.mutex.Unlock()
	if end != nil {
		end()
	}
	_ = d.Close() // a second time for one that was served
}
