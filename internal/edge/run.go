package edge

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/model"
)

// perNetwork are the handshakes of one /24 at a time.
const perNetwork = 8

// writeEach is how soon records are on the disk.
const writeEach = 100 * time.Millisecond

// retry is how long to wait where nothing can be listened to.
const retry = 5 * time.Second

// Listen opens the socket of links.
type Listen func(netip.AddrPort) (net.Listener, error)

// Dial connects to a peer, from our address.
type Dial func(ctx context.Context, from netip.Addr, to netip.AddrPort) (net.Conn, error)

// Tunnel opens the tunnel's own port; nil in tests without one.
type Tunnel func(netip.AddrPort) (net.PacketConn, error)

// Sockets are those of the machine.
func (o Options) Sockets() Options {
	o.Listen = func(at netip.AddrPort) (net.Listener, error) { return link.Listen(context.Background(), at) }
	o.Dial = func(ctx context.Context, from netip.Addr, to netip.AddrPort) (net.Conn, error) {
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		return d.DialContext(ctx, "tcp4", to.String())
	}
	o.Retry = retry
	o.Tunnel = func(at netip.AddrPort) (net.PacketConn, error) { return link.ListenTunnel(context.Background(), at) }
	return o
}

// random is of the kernel's.
func random() uint64 {
	var octets [8]byte
	_, _ = rand.Read(octets[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(octets[:])
}

// Run keeps the links, and ends pacts when it is time. It starts anew where what the links are made of changes, and where nothing
// can be listened to: hosts inside are the gateway's first duty.
func (s *Service) Run(ctx context.Context) error {
	for {
		c := s.current()
		running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // peers are told that we stop
		ended := make(chan struct{})
		var err error
		links := s.newLinks(c)
		s.setLinks(links)
		go func() {
			defer close(ended)
			if c.Given() {
				err = links.Run(running)
			} else {
				<-running.Done()
			}
		}()
		s.serve(ctx, c, ended)
		if ctx.Err() != nil {
			life{s}.leave()
		}
		cancel()
		<-ended
		s.setLinks(nil)
		if ctx.Err() == nil && err != nil {
			s.Log.Error("edges do not meet", "hint", "it is tried again: look who has the address and port of edges.listen", "error", err)
			s.serve(ctx, c, s.later())
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// later is closed when it is time to try again.
func (s *Service) later() <-chan struct{} {
	at := make(chan struct{})
	time.AfterFunc(s.Retry, func() { close(at) })
	return at
}

// serve follows configurations until the links of c are to be others, or have ended.
func (s *Service) serve(ctx context.Context, c settings.Edges, ended <-chan struct{}) {
	ticks, writes := time.NewTicker(tick), time.NewTicker(writeEach)
	defer ticks.Stop()
	defer writes.Stop()
	defer life{s}.flush()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-ticks.C:
			life{s}.tend()
		case <-writes.C:
			life{s}.flush()
		case <-s.renewed:
			now := s.current()
			if s.links == nil || now.Name != c.Name || now.Listen != c.Listen || now.Wait != c.Wait || now.Quotas.Handshakes != c.Quotas.Handshakes {
				return
			}
			s.links.Follow()
		}
	}
}

func (s *Service) current() settings.Edges {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inForce.Edges
}

func (s *Service) setLinks(l *link.Links) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = l
}

func (s *Service) newLinks(c settings.Edges) *link.Links {
	var tunnel func() (net.PacketConn, error)
	if s.Tunnel != nil {
		tunnel = func() (net.PacketConn, error) {
			return s.Tunnel(netip.AddrPortFrom(c.Listen.Addr(), settings.TunnelPort))
		}
	}
	return link.New(link.Options{
		Name: c.Name, Certificate: s.ours, Peers: s.linkPeers, Hello: far{s}.hello, Pacts: s.hasPacts,
		Listen: func() (net.Listener, error) { return s.Listen(c.Listen) },
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return s.Dial(ctx, c.Listen.Addr(), to)
		},
		Tunnel: tunnel, Handler: far{s}, Now: s.Now, Random: random, Wait: c.Wait, Handshakes: c.Quotas.Handshakes, PerNetwork: perNetwork, Log: s.Log,
	})
}

// hasPacts reports whether a pact with a peer stands.
func (s *Service) hasPacts(name model.Name) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pacts == nil {
		return false
	}
	for p := range s.pacts.All() {
		if p.State == pact.Live && p.Peers == name.String() {
			return true
		}
	}
	return false
}

// Rejected implements link.Handler.
func (s far) Rejected(from netip.AddrPort, name model.Name, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	show(s).rejected(from, name, why)
}
