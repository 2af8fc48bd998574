package link

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// peer is what we know of one configured edge: at most one connection is its link, one more waits for its dialler to close it.
type peer struct {
	links  *Links
	name   model.Name
	lost   chan struct{} // the link has gone
	wanted chan struct{} // somebody asks: dial now
	stop   context.CancelFunc
	turn   sync.Mutex // the handler's, for this peer; before mu

	mu       sync.Mutex
	config   Peer
	removed  bool
	link     *connection
	spare    *connection // dialled by the peer, which will have seen the other by now
	up       bool        // as the handler knows it
	since    model.Instant
	why      error // no link, or the last attempt's
	underway int   // handshakes
	wish     bool  // somebody asks since the last attempt
	process  string
	path     paths
	exchanges
}

func newPeer(l *Links, c Peer) *peer {
	return &peer{
		links: l, name: c.Name, config: c, lost: make(chan struct{}, 1), wanted: make(chan struct{}, 1), since: l.o.Now(),
		exchanges: newExchanges(2*l.o.Wait, l.o.Now), path: newPaths(),
	}
}

// start dials, from now on. Links.mu is held.
func (p *peer) start(ctx context.Context) {
	ctx, p.stop = context.WithCancel(ctx)
	p.links.running.Go(func() { p.dials(ctx) })
}

func (p *peer) configured() Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

// configure takes the peer as it is configured now. A link whose certificate is not the peer's any more ends, and so does any where
// a pin has gone: the next one has other keys, which nobody knows who had that one.
func (p *peer) configure(c Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	moved := p.config.Address != c.Address
	gone := slices.ContainsFunc(p.config.Pins, func(pin [32]byte) bool { return !slices.Contains(c.Pins, pin) })
	p.config = c
	for _, one := range []*connection{p.link, p.spare} {
		if one != nil {
			err := c.verify(one.tls.ConnectionState(), time.Now())
			if gone && err == nil {
				err = ErrPin
			}
			if err != nil {
				one.end(err, false)
			}
		}
	}
	if moved {
		p.wakeLocked()
	}
}

// remove ends all there is of the peer.
func (p *peer) remove(why error) {
	if p.stop != nil {
		p.stop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removed = true
	p.fail(why)
	for _, c := range []*connection{p.link, p.spare} {
		if c != nil {
			c.end(why, false)
		}
	}
}

// wakeLocked has the peer dialled now, if it can be.
func (p *peer) wakeLocked() bool {
	if !p.config.Address.IsValid() {
		return false
	}
	p.wish = true
	notify(p.wanted)
	return true
}

// expect counts a handshake.
func (p *peer) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underway++
}

// arrived ends what expect began: with a connection, or with an error. Who asks is told when nothing else is under way.
func (p *peer) arrived(m met, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err == nil {
		p.elect(m.connection)
	}
	p.mu.Lock()
	p.underway--
	if err != nil && p.link == nil {
		p.why = err
		if p.underway == 0 && !p.wish {
			p.fail(err)
		}
	}
	p.mu.Unlock()
	p.settle()
}

// settle tells the handler that there is no link, once nothing is under way that might become one. p.turn is held.
func (p *peer) settle() {
	p.mu.Lock()
	down, why := p.up && p.link == nil && p.underway == 0, p.why
	if down {
		p.up, p.since = false, p.links.o.Now()
	}
	p.mu.Unlock()
	if down {
		p.links.o.Handler.Down(p.name, why)
	}
}

// errReplaced is why a connection ends that is not the link any more.
var errReplaced = errors.New("another connection is the link")

// elect decides which connection is the link, now that there is another. Both ends come to the same: the dialler of one that does not
// stay closes it, when it has seen the one that stays. p.turn is held.
func (p *peer) elect(c *connection) {
	p.mu.Lock()
	old, err := p.link, p.config.verify(c.tls.ConnectionState(), time.Now())
	switch {
	case p.removed:
		c.end(ErrRemoved, false)
	case err != nil: // it was another configuration that let it in
		c.end(err, false)
	case old == nil || old.hello.Process != c.hello.Process || old.dialled == c.dialled || c.preferred():
		p.link = c
		switch {
		case old == nil:
		case old.hello.Process != c.hello.Process || old.dialled == c.dialled: // the peer knows the old one no more
			old.end(errReplaced, false)
		case old.dialled:
			old.end(errReplaced, true)
		default:
			p.spareLocked(old)
		}
		p.mu.Unlock()
		p.install(c)
		return
	case c.dialled:
		c.end(errReplaced, true)
	default: // the peer may have lost the other one, unknown to us
		p.spareLocked(c)
		old.suspect()
	}
	p.mu.Unlock()
}

func (p *peer) spareLocked(c *connection) {
	if p.spare != nil {
		p.spare.end(errReplaced, false)
	}
	p.spare = c
}

// install makes a connection the link for the handler and for who asks. p.turn is held, p.link is the connection.
func (p *peer) install(c *connection) {
	p.mu.Lock()
	if c.hello.Process != p.process { // its IDs begin anew
		p.process = c.hello.Process
		p.answers.forget()
	}
	if !p.up {
		p.since = p.links.o.Now()
	}
	p.up, p.why = true, nil
	p.mu.Unlock()
	if err := p.links.o.Handler.Up(p.name, c.hello, c); err != nil {
		c.end(err, false)
		return
	}
	c.ping()
	p.mu.Lock()
	_ = c.queue(p.asked(c))
	p.mu.Unlock()
	p.links.probe(c)
}

// live hears the connection until it ends.
func (m met) live() {
	err := m.read(m.from)
	m.peer.leave(m.connection, err)
}

// leave takes a connection away that has ended.
func (p *peer) leave(c *connection, why error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	p.mu.Lock()
	if p.spare == c {
		p.spare = nil
	}
	if p.link != c {
		p.mu.Unlock()
		return
	}
	p.link, p.spare = p.spare, nil
	next := p.link
	if next == nil {
		p.why = why
		if len(p.asks) > 0 {
			p.wakeLocked()
		}
		notify(p.lost)
	}
	p.mu.Unlock()
	if next != nil {
		p.install(next)
		return
	}
	p.settle()
}

// hear takes a message of one of the peer's connections.
func (p *peer) hear(c *connection, m wire.Message) {
	switch m := m.(type) {
	case wire.Hello:
		c.end(ErrHandshake, false)
		return
	case wire.Probed:
		p.mu.Lock()
		p.path.acknowledged(p.links.o.Now(), m)
		p.mu.Unlock()
		return
	case wire.Epoch:
		c.epoch.Store(uint32(m.Epoch))
	case wire.Ping:
		if m.Answer {
			c.ponged(m.ID)
		} else {
			_ = c.send(wire.Ping{ID: m.ID, Answer: true})
		}
		return
	}
	if p.known(m) {
		return
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.isUp() {
		p.links.o.Handler.Heard(p.name, m)
	}
}

// known says whether a message is one of an exchange that the handler has nothing to do with: an answer that somebody waits for, or
// what has come before.
func (p *peer) known(m wire.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, is := m.(wire.Open); is {
		answer, again := p.again(o)
		if again && answer != nil && p.link != nil {
			_ = p.link.send(answer)
		}
		return again
	}
	id, is := answers(m)
	return is && !p.take(id, m)
}

func (p *peer) isUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

func (p *peer) send(m wire.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered(m)
	if p.link == nil {
		return ErrNoLink
	}
	return p.link.send(m)
}

func (p *peer) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Name: p.name, Since: p.since}
	if p.why != nil {
		s.Error = p.why.Error()
	}
	if c := p.link; c != nil {
		s.Up, s.Dialled, s.Version, s.Locator = true, c.dialled, c.version, remote(c.tls.NetConn())
		if s.RTT = c.roundTrip(); p.path.heard {
			s.MTU = p.path.inner()
		}
	}
	return s
}

// notify says it where nobody has yet.
func notify(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
