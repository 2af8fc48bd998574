package ability

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
)

// askTime is how long a connection may take in all.
const askTime = 2 * time.Second

// Bits of tcpi_options, and what timestamps take of each segment (linux/tcp.h, RFC 7323 appendix A).
const (
	infoTimestamps = 1
	infoSACK       = 2
	infoScale      = 4
	timestampSpace = 12
)

// Dial connects, as net.Dialer's DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// ask asks an endpoint what it can, by a connection of our own, and where it has TLS for the certificates of its names, by
// one for each. What a host can that the gateway's own kernel does not offer is not seen.
func (dial Dial) ask(ctx context.Context, e Endpoint) (a Answer) {
	c, err := dial.connect(ctx, e)
	if err != nil {
		return Answer{Err: err}
	}
	if a.Can, a.Err = canOf(c); a.Err != nil || !e.TLS {
		_ = c.Close()
		return a
	}
	for i, name := range e.Names {
		if i > 0 {
			if c, err = dial.connect(ctx, e); err != nil {
				return a
			}
		}
		names, err := certificate(ctx, c, name)
		if err != nil && !isAlert(err) {
			return a // it speaks something else, or no more
		}
		a.add(names, err == nil)
	}
	return a
}

func (dial Dial) connect(ctx context.Context, e Endpoint) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return dial(ctx, "tcp4", e.To.String())
}

func canOf(c net.Conn) (Can, error) {
	info, err := infoOf(c)
	if err != nil {
		return Can{}, fmt.Errorf("read the options of the connection: %w", err)
	}
	return readInfo(info), nil
}

// readInfo says what the other side of a connection can.
func readInfo(info *unix.TCPInfo) Can {
	can := Can{
		WebPromise: datapath.WebPromise{SACK: info.Options&infoSACK != 0, Timestamps: info.Options&infoTimestamps != 0},
		Scale:      info.Options&infoScale != 0,
	}
	mss := info.Snd_mss
	if can.Timestamps {
		mss += timestampSpace
	}
	can.MSS = uint16(min(mss, 65535))
	return can
}

func infoOf(c net.Conn) (info *unix.TCPInfo, err error) {
	s, is := c.(syscall.Conn)
	if !is {
		return nil, errors.New("it has no socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	return info, errors.Join(failed, err)
}

// certificate reads the names in the certificate that an endpoint has for a name, over a connection, which it closes. Nobody
// is trusted for it: a host that shows somebody else's is kept apart from that one, and no more.
func certificate(ctx context.Context, c net.Conn, name string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	shown := false
	client := tls.Client(c, &tls.Config{ //nolint:gosec // old hosts have certificates, too
		ServerName: name, MinVersion: tls.VersionTLS10,
		InsecureSkipVerify: true, //nolint:gosec // nothing is told it
		VerifyConnection: func(state tls.ConnectionState) error {
			names, shown = state.PeerCertificates[0].DNSNames, true
			return nil
		},
	})
	err = client.HandshakeContext(ctx)
	_ = client.Close()
	if shown { // though it may want a certificate of us, too
		return names, nil
	}
	if err == nil {
		err = errors.New("it has shown no certificate that can be read")
	}
	return nil, err
}

// isAlert reports whether the other side has ended a handshake, in TLS.
func isAlert(err error) bool {
	var said *net.OpError
	return errors.As(err, &said) && said.Op == "remote error"
}

// add takes the names of a certificate in.
func (a *Answer) add(names []string, shown bool) {
	a.TLS = a.TLS || shown
	for _, text := range names {
		name, is := parseCertificateName(text)
		switch {
		case !is || slices.Contains(a.Names, name):
		case len(a.Names) == mostNames:
			a.Left++
		default:
			a.Names = append(a.Names, name)
		}
	}
}
