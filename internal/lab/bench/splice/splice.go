package splice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/realmgate/realmgate/internal/web/hello"
)

const (
	helloWithin   = 3 * time.Second
	connectWithin = 3 * time.Second
	mostHello     = 16 << 10
)

// Serve leads connections that listener takes to hosts by their names, until ctx ends. It closes the listener.
func Serve(ctx context.Context, listener net.Listener, hosts map[string]string) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		client, err := listener.Accept()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("take a connection: %w", err)
		}
		go func() {
			defer client.Close()
			_ = lead(client, hosts) // whose fault it is, its ends know
		}()
	}
}

// lead leads a connection to its host.
func lead(client net.Conn, hosts map[string]string) error {
	said, name, err := read(client)
	if err != nil {
		return err
	}
	at, known := hosts[name]
	if !known {
		return fmt.Errorf("there is no host %s", name)
	}
	host, err := net.DialTimeout("tcp", at, connectWithin)
	if err != nil {
		return err
	}
	defer host.Close()
	if _, err := host.Write(said); err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() { answered <- pipe(client, host) }()
	return errors.Join(pipe(host, client), <-answered)
}

// read returns what a client says until its name is known.
func read(client net.Conn) (said []byte, name string, err error) {
	if err := client.SetReadDeadline(time.Now().Add(helloWithin)); err != nil {
		return nil, "", err
	}
	octets := make([]byte, mostHello)
	for n := 0; n < len(octets); {
		more, err := client.Read(octets[n:])
		if err != nil {
			return nil, "", err
		}
		n += more
		name, err := hello.TLS(octets[:n])
		if err == nil {
			return octets[:n], name, client.SetReadDeadline(time.Time{})
		}
		if !errors.Is(err, hello.ErrShort) {
			return nil, "", err
		}
	}
	return nil, "", hello.ErrMalformed
}

// pipe copies until one end has said all, which the other is told. Between sockets of TCP io.Copy splices in the kernel.
func pipe(to, from net.Conn) error {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		err = errors.Join(err, half.CloseWrite())
	}
	return err
}
