package natlog

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/natlog/settings"
)

const (
	dialTime   = 5 * time.Second
	writeTime  = 10 * time.Second
	answerTime = 100 * time.Millisecond // in which who is not there, or wants nothing, says so, at least
)

var errEnded = errors.New("the collector has ended the connection")

// link is a connection to a collector. By UDP nobody says that something has arrived, but who is not there may say so (ICMP):
// then what was sent since the last look has not.
type link struct {
	to   settings.Collector
	ca   string
	conn net.Conn
	gone chan error // says why the connection is over, and is closed then

	sent    int  // records, since deliver had some
	missed  int  // of which it was learned that they did not arrive
	refused bool // the last connection was
}

func (l *link) isDatagram() bool { return l.to.Network == "udp" }

// open connects, if it is not; fresh: it just has.
func (l *link) open(ctx context.Context) (fresh bool, err error) {
	select {
	case <-l.gone: //nolint:errcheck // why it is over was told
		l.drop()
	default:
	}
	if l.conn != nil {
		return false, nil
	}
	stop := ctx
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	began := time.Now()
	switch l.to.Network {
	case "tls":
		d := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}
		if d.Config.RootCAs, err = roots(l.ca); err != nil {
			return false, err
		}
		l.conn, err = d.DialContext(ctx, "tcp", l.to.Host)
	default:
		l.conn, err = new(net.Dialer).DialContext(ctx, l.to.Network, l.to.Host)
	}
	if err != nil {
		l.conn = nil
		return false, fmt.Errorf("connect to %s: %w", l.to, err)
	}
	if l.isDatagram() {
		return true, nil
	}
	l.watch(l.conn)
	// Some refuse a connection that stands: who wants a certificate of ours by TLS 1.3, or a proxy whose collector is away.
	select {
	case err := <-l.gone:
		l.drop()
		return false, fmt.Errorf("connect to %s: %w", l.to, err)
	case <-stop.Done():
		l.drop()
		return false, fmt.Errorf("connect to %s: %w", l.to, context.Cause(stop))
	case <-time.After(max(answerTime, time.Since(began))): // the connection took more than its way there and back
		return true, nil
	}
}

// roots are those of a file; nil: of the system.
func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of collectors: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the certificates of collectors: %s has none", file)
	}
	return pool, nil
}

// watch learns when the collector ends a connection, on which it never says anything.
func (l *link) watch(conn net.Conn) {
	gone := make(chan error, 1)
	l.gone = gone
	go func() {
		defer close(gone)
		_, err := io.Copy(io.Discard, conn)
		if err == nil {
			err = errEnded
		}
		gone <- err
	}()
}

// drop gives the connection up.
func (l *link) drop() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.conn, l.gone = nil, nil
}

// write sends octets that tell of so many records.
func (l *link) write(text []byte, records int) error {
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTime)) // a socket has deadlines
	_, err := l.conn.Write(text)
	if err == nil {
		l.sent += records
		return nil
	}
	return l.failed(err)
}

// failed gives a connection up by which something could not be sent, or has not arrived.
func (l *link) failed(err error) error {
	l.refused = l.isDatagram() && errors.Is(err, syscall.ECONNREFUSED)
	if l.refused { // by what was sent before
		l.missed += l.sent
	}
	l.sent = 0
	l.drop()
	return fmt.Errorf("send to %s: %w", l.to, err)
}

// look asks whether somebody has said that datagrams did not arrive.
func (l *link) look() error {
	conn, ok := l.conn.(*net.UDPConn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return l.failed(err)
	}
	code := 0
	if err := raw.Control(func(fd uintptr) { code, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR) }); err != nil {
		return l.failed(err)
	}
	if code != 0 {
		err = syscall.Errno(code)
	}
	if err != nil {
		return l.failed(err)
	}
	return nil
}

// lost implements loser.
func (l *link) lost() int {
	n := l.missed
	l.missed = 0
	return n
}
