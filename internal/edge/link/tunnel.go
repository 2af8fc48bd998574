package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

const (
	probesUnderWay = 64 // of one peer, that wait for an acknowledgement
	probesAnswered = 64 // a second, of one peer: a copied probe is as good as its own
)

// Listen opens the socket of links. Its address may come later.
func Listen(ctx context.Context, at netip.AddrPort) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1) })
		return errors.Join(failed, err)
	}}
	l, err := config.Listen(ctx, "tcp4", at.String())
	if err != nil {
		return nil, fmt.Errorf("listen at %s for links: %w", at, err)
	}
	return l, nil
}

// ListenTunnel opens a socket at the tunnel's port that sends packets as large as they are, with DF, whatever the kernel believes of the
// path (RFC 8899 §4.1). Its address may come later.
func ListenTunnel(ctx context.Context, at netip.AddrPort) (net.PacketConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) {
			err = errors.Join(
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE),
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_FREEBIND, 1),
			)
		})
		return errors.Join(failed, err)
	}}
	c, err := config.ListenPacket(ctx, "udp4", at.String())
	if err != nil {
		return nil, fmt.Errorf("listen at %s for probes of the path MTU: %w", at, err)
	}
	return c, nil
}

// paths is how large a packet passes to a peer. peer.mu is held.
type paths struct {
	prober
	underWay map[uint64]underWay // by the nonces of probes
	told     int                 // the inner size that the handler knows; 0: what Up means
	progress chan struct{}       // something was acknowledged
	answers  *rate.Limiter       // of the peer's probes
}

func newPaths() paths {
	return paths{underWay: map[uint64]underWay{}, progress: make(chan struct{}, 1), answers: rate.NewLimiter(probesAnswered, probesAnswered)}
}

// underWay is a probe that was sent.
type underWay struct {
	size int
	at   model.Instant
}

// draw draws the nonce of a probe.
func (p *paths) draw(now model.Instant, random func() uint64, size int) uint64 {
	if len(p.underWay) >= probesUnderWay {
		clear(p.underWay)
	}
	nonce := random()
	p.underWay[nonce] = underWay{size, now}
	return nonce
}

// acknowledged takes the peer's word for a probe: no other nonce, none twice, and none that somebody has kept.
func (p *paths) acknowledged(now model.Instant, m wire.Probed) {
	sent, ours := p.underWay[m.Nonce]
	if !ours || sent.size != m.Size || now.Sub(sent.at) > probeTries*probeWait {
		return
	}
	delete(p.underWay, m.Nonce)
	p.got(now, m.Size)
	notify(p.progress)
}

// probe looks for the path MTU while the connection is the link. peer.turn is held.
func (l *Links) probe(c *connection) {
	if l.tunnel == nil {
		return
	}
	const unsaid = probeDefault - wire.Overhead
	most := min(cmp.Or(c.said.MTU, unsaid), cmp.Or(c.hello.MTU, unsaid)) + wire.Overhead
	p := c.peer
	l.mu.Lock()
	l.byVNI[c.said.VNI] = p
	l.mu.Unlock()
	p.mu.Lock()
	p.path.begin(l.o.Now(), most)
	p.path.told = 0
	p.mu.Unlock()
	p.tell()
	if to := c.locator(); to.IsValid() {
		l.running.Go(func() { p.probes(c, to) })
	}
}

// tell tells the handler of a path MTU that it does not know. peer.turn is held.
func (p *peer) tell() {
	p.mu.Lock()
	inner := p.path.inner()
	news := p.up && inner != cmp.Or(p.path.told, probeBase-wire.Overhead)
	p.path.told = inner
	p.mu.Unlock()
	if news {
		p.links.o.Handler.MTU(p.name, inner)
	}
}

// probes sends probes until the connection ends, or is the link no more.
func (p *peer) probes(c *connection, to netip.AddrPort) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		p.mu.Lock()
		if p.link != c {
			p.mu.Unlock()
			return
		}
		now := p.links.o.Now()
		sizes, at := p.path.next(now)
		p.mu.Unlock()
		for _, size := range sizes {
			p.mu.Lock()
			nonce := p.path.draw(now, p.links.o.Random, size)
			p.mu.Unlock()
			if err := c.sendProbe(to, nonce, size); errors.Is(err, unix.EMSGSIZE) {
				p.mu.Lock()
				p.path.tooBig(size)
				p.mu.Unlock()
			}
		}
		p.turn.Lock()
		p.tell()
		p.turn.Unlock()
		t.Reset(at.Sub(now))
		select {
		case <-t.C:
		case <-p.path.progress:
		case <-c.ending:
			return
		}
	}
}

// locator is where the peer takes tunnel packets, those of the data plane, too.
func (c *connection) locator() netip.AddrPort {
	var ours netip.Addr
	if len(c.said.Locators) > 0 {
		ours = c.said.Locators[0].Address
	}
	return c.hello.Where(c.peer.configured().Address.Addr(), ours)
}

// sendProbe sends one probe through the tunnel.
func (c *connection) sendProbe(to netip.AddrPort, nonce uint64, size int) error {
	epoch := uint8(c.epoch.Load())
	key, err := c.Key(true, epoch)
	if err != nil {
		return err
	}
	probe := wire.AppendProbe(nil, wire.Header{VNI: c.hello.VNI, Epoch: epoch, Key: key}, nonce, size)
	_, err = c.links.tunnel.WriteTo(probe, net.UDPAddrFromAddrPort(to))
	return err
}

// acknowledge says on the link which probes of its peer have come through the tunnel, until the context ends.
func (l *Links) acknowledge(ctx context.Context) {
	buf := make([]byte, wire.MostMTU)
	for {
		n, _, err := l.tunnel.ReadFrom(buf)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			pause(ctx, acceptPauses)
			continue
		}
		l.answer(buf[:n])
	}
}

// answer acknowledges a probe on the connection whose key it has: the link's, or that of one that may become it.
func (l *Links) answer(payload []byte) {
	for spare := range 2 {
		var c *connection
		_, nonce, size, err := wire.ReadProbe(payload, func(vni uint32, epoch uint8) (key [16]byte, there bool) {
			if c = l.at(vni, spare == 1); c == nil {
				return key, false
			}
			key, err := c.Key(false, epoch)
			return key, err == nil
		})
		if c == nil { // anybody can send anything here
			return
		}
		if err == nil {
			if c.peer.path.answers.Allow() {
				_ = c.send(wire.Probed{Nonce: nonce, Size: size})
			}
			return
		}
	}
}

// at is the connection behind one of our VNIs.
func (l *Links) at(vni uint32, spare bool) *connection {
	l.mu.Lock()
	p := l.byVNI[vni]
	l.mu.Unlock()
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if spare {
		return p.spare
	}
	return p.link
}
