package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// Why a connection does not become a link. What is returned wraps one of them.
var (
	ErrPin       = errors.New("the key is not one that is configured for the peer")
	ErrName      = errors.New("the name is not the peer's")
	ErrALPN      = errors.New("the other side does not speak " + wire.ALPN)
	ErrVersion   = errors.New("no version in common")
	ErrExpired   = errors.New("the certificate is not in force at this time")
	ErrAuthority = errors.New("no configured authority has signed the certificate")
	ErrTooMany   = errors.New("too many at once")
	ErrRefused   = errors.New("the peer refuses our certificate: the key that it has configured for us must be ours")
	ErrHandshake = errors.New("no handshake of an edge")
)

// Why a link is not there, or not any more.
var (
	ErrNoLink  = errors.New("no link to the peer")
	ErrSilent  = errors.New("the peer has not answered for too long")
	ErrSlow    = errors.New("the peer reads too slowly")
	ErrRemoved = errors.New("the peer is not configured any more")
)

// Options are what Links need.
type Options struct {
	Name        model.Name             // ours
	Certificate func() tls.Certificate // ours, with its key; asked for each handshake
	Peers       func() []Peer          // asked at the start and by Follow
	// Hello makes what a new connection says first. The keys are the connection's: what comes in under the epoch that the hello
	// says must be readable before it is said. Its MTU is the most that we would ever take, by interface and configuration, not
	// what the path is known to carry: the search for that ends there. 0: 1452.
	Hello  func(peer model.Name, keys Keys) (wire.Hello, error)
	Pacts  func(peer model.Name) bool // whether pacts of the peer live: it is then redialled each 4 s at the latest. nil: none do
	Listen func() (net.Listener, error)
	Dial   func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Tunnel opens the tunnel's own port, as ListenTunnel does; nil: no path MTU is looked for.
	Tunnel  func() (net.PacketConn, error)
	Handler Handler
	Now     func() model.Instant
	Random  func() uint64
	Wait    time.Duration // most of a handshake, hellos included
	// Most handshakes at once that others have begun, in all and of one /24; those from addresses of configured peers are counted
	// apart, so that no flood takes their places.
	Handshakes, PerNetwork int
	Log                    *slog.Logger
}

// Peer is an edge that the configuration names.
type Peer struct {
	Name    model.Name
	Address netip.AddrPort // zero: it dials us
	Pins    [][32]byte     // SHA-256 of its key, as Pin has it: one is enough
	Roots   *x509.CertPool // where there is no pin: who may sign its certificate
	Zones   []model.Name   // what it speaks for
}

// Handler is told what comes from peers. Calls for one peer come one after the other; none may wait for the peer.
type Handler interface {
	// Up says that a link is there, or that it has moved to another connection, which has other keys. An error ends it.
	Up(peer model.Name, hello wire.Hello, keys Keys) error
	// Heard is told every message but those that belong to the link. Each open comes once for each round; an answer
	// comes only where its Ask has given up.
	Heard(peer model.Name, m wire.Message)
	Down(peer model.Name, why error)
	// MTU says how large an inner packet passes to the peer, in octets; before it is told, 1280. It is told again after Up.
	MTU(peer model.Name, inner int)
	// Rejected says that a connection was no link's; the peer is empty where nobody knows whose it was.
	Rejected(from netip.AddrPort, peer model.Name, why error)
}

// Keys are the secrets of one connection.
type Keys interface {
	// Key is the header's key of a direction, seen from us, and an epoch of 0 to 127 (RFC 8446 §7.5).
	Key(out bool, epoch uint8) ([16]byte, error)
	// Said is our own hello on the connection; zero while Hello makes it.
	Said() wire.Hello
}

// State is how a link is.
type State struct {
	Name    model.Name
	Up      bool
	Since   model.Instant  // of Up, or of its opposite
	Locator netip.AddrPort // the other end of the connection
	Dialled bool           // by us
	RTT     time.Duration  // of the last ping; 0: not known yet
	Version int
	MTU     int    // octets of an inner packet; 0: no probe comes through the tunnel
	Error   string // why it is not up, or the last attempt failed
}
