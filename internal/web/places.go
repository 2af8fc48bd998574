package web

import (
	"container/list"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Bounds of what waits, so that nobody takes the places of others. One who is beyond them is not heard: it sends again.
const (
	mostOfSource  = 64
	mostOfNetwork = 512 // a /24
	mostOfHost    = 256 // that it has not answered

	mostOctets          = 64 << 20
	mostOctetsOfNetwork = 4 << 20
	mostFrameOctets     = 24 << 10 // of a connection: what its window has room for, and headers
	leastPatience       = time.Second
)

// places counts what waits.
type places struct {
	most    int // connections that are known
	source  map[netip.Addr]int
	network map[netip.Prefix]share
	host    map[netip.Addr]int // connecting
	octets  int

	// All connections, the oldest first, by what is to come: their names, their hosts, what was on its way when they opened,
	// or nothing any more.
	reading, connecting, ordering, resting list.List
}

// share is what the connections of a network have.
type share struct{ waiting, octets int }

func newPlaces() places {
	return places{most: datapath.MaxWebAnswers - mostAttempts, source: map[netip.Addr]int{}, network: map[netip.Prefix]share{}, host: map[netip.Addr]int{}}
}

// take has one more of a source wait.
func (p *places) take(source netip.Addr) {
	p.source[source]++
	p.change(source, 1, 0)
}

func (p *places) change(source netip.Addr, waiting, octets int) {
	network := networkOf(source)
	s := p.network[network]
	s.waiting, s.octets = s.waiting+waiting, s.octets+octets
	p.network[network] = s
	if s == (share{}) {
		delete(p.network, network)
	}
	p.octets += octets
}

// hold counts octets that a connection has more.
func (p *places) hold(c *connection, octets int) { p.change(c.flow.Source.Addr(), 0, octets) }

// holds reports whether a connection may have a frame of so many octets more.
func (p *places) holds(c *connection, octets int) bool {
	return c.framed+octets <= mostFrameOctets && p.octets < mostOctets &&
		(len(c.frames) == 0 || p.network[networkOf(c.flow.Source.Addr())].octets < mostOctetsOfNetwork)
}

// leave gives up the places of one that waits no more, though it is known for a while.
func (p *places) leave(c *connection) {
	if c.phase == phaseConnecting {
		take(p.host, c.target.To.Addr())
	}
	take(p.source, c.flow.Source.Addr())
	p.change(c.flow.Source.Addr(), -1, -c.octets)
	c.octets = 0
}

// queue moves a connection to the end of a list; nil: to none.
func (p *places) queue(c *connection, to *list.List) {
	if c.in != nil {
		c.in.Remove(c.at)
	}
	if c.in = to; to != nil {
		c.at = to.PushBack(c)
	}
}

// mayWait reports whether one more of a source may.
func (p *places) mayWait(source netip.Addr) bool {
	of := p.network[networkOf(source)]
	return p.source[source] < mostOfSource && of.waiting < mostOfNetwork && of.octets < mostOctetsOfNetwork
}

// take counts one less, and forgets what has none.
func take[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] <= 0 {
		delete(counts, of)
	}
}

func networkOf(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, 24).Masked() }
