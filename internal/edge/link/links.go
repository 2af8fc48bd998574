package link

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// Links are the links to all peers.
type Links struct {
	o              Options
	strange, known *gate          // handshakes that others have begun: from anywhere, from addresses of peers
	tunnel         net.PacketConn // Run's; nil: none
	running        sync.WaitGroup

	following sync.Mutex // before mu

	mu    sync.Mutex
	ctx   context.Context // of Run; nil before
	over  bool            // Run has ended
	peers map[model.Name]*peer
	byVNI map[uint32]*peer // by what we have told the peer to write
}

// New makes links to the peers that are configured. Nothing is dialled before Run; an Ask waits for it.
func New(o Options) *Links {
	if o.Pacts == nil {
		o.Pacts = func(model.Name) bool { return false }
	}
	l := &Links{o: o, strange: newGate(o.Handshakes, o.PerNetwork), known: newGate(o.Handshakes, o.PerNetwork), peers: map[model.Name]*peer{}, byVNI: map[uint32]*peer{}}
	l.Follow()
	return l
}

// Run accepts and dials until the context ends; then what was sent is written, every link is told Down, and nothing is left. It returns
// early where nothing can be listened to.
func (l *Links) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer l.running.Wait()
	defer cancel()
	listener, err := l.o.Listen()
	if err != nil {
		return fmt.Errorf("listen for edges: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	defer listener.Close() //nolint:errcheck // nothing is lost
	if l.o.Tunnel != nil {
		if l.tunnel, err = l.o.Tunnel(); err != nil {
			return fmt.Errorf("open the tunnel's port: %w", err)
		}
		defer context.AfterFunc(ctx, func() { _ = l.tunnel.Close() })()
		defer l.tunnel.Close() //nolint:errcheck // nothing is lost
		l.running.Go(func() { l.acknowledge(ctx) })
	}
	l.mu.Lock()
	l.ctx = ctx
	for _, p := range l.peers {
		p.start(ctx)
	}
	l.mu.Unlock()
	defer l.forget()
	return l.accept(ctx, listener)
}

// Follow takes the peers as they are configured now.
func (l *Links) Follow() {
	l.following.Lock()
	defer l.following.Unlock()
	configured := l.o.Peers() // may be about to ask something of us: no lock that it might want
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	var removed []*peer
	now := map[model.Name]bool{}
	for _, configured := range configured {
		now[configured.Name] = true
		if p := l.peers[configured.Name]; p != nil {
			p.configure(configured)
			continue
		}
		p := newPeer(l, configured)
		l.peers[configured.Name] = p
		if l.ctx != nil {
			p.start(l.ctx)
		}
	}
	for name, p := range l.peers {
		if !now[name] {
			removed = append(removed, p)
			delete(l.peers, name)
			maps.DeleteFunc(l.byVNI, func(_ uint32, at *peer) bool { return at == p })
		}
	}
	l.mu.Unlock()
	for _, p := range removed {
		p.remove(ErrRemoved)
	}
}

// forget ends all links.
func (l *Links) forget() {
	l.mu.Lock()
	peers := l.peers
	l.peers, l.over = map[model.Name]*peer{}, true
	l.mu.Unlock()
	for _, p := range peers {
		p.remove(net.ErrClosed)
	}
}

// Send sends a message on the link. ErrNoLink where there is none; what is sent may be lost with the link.
func (l *Links) Send(name model.Name, m wire.Message) error {
	p := l.peer(name)
	if p == nil {
		return ErrNoLink
	}
	return p.send(m)
}

// States are the states of all links, by name.
func (l *Links) States() []State {
	var all []State
	for _, p := range l.all() {
		all = append(all, p.state())
	}
	slices.SortFunc(all, func(a, b State) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return all
}

func (l *Links) peer(name model.Name) *peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peers[name]
}

func (l *Links) all() []*peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*peer, 0, len(l.peers))
	for _, p := range l.peers {
		all = append(all, p)
	}
	return all
}
