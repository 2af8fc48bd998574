package nameserver

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
)

// connections is the bounded set of open TCP connections, ordered by their last
// message. A full set closes the one that has been silent longest, so that idle
// connections cannot keep resolvers out.
type connections struct {
	mu       sync.Mutex
	limits   Limits
	byAge    *list.List // of *connection, the longest silent first
	byClient map[netip.Addr]int
	closed   bool
}

type connection struct {
	conn   net.Conn
	client netip.Addr
	place  *list.Element // nil once removed
}

func newConnections(limits Limits) *connections {
	return &connections{limits: limits, byAge: list.New(), byClient: map[netip.Addr]int{}}
}

// add takes a connection in and returns nil if its client has too many or the
// set is closed. evicted says that another connection was closed for it.
func (c *connections) add(conn net.Conn, client netip.Addr) (entry *connection, evicted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.byClient[client] >= c.limits.PerClient {
		return nil, false
	}
	if c.byAge.Len() >= c.limits.Connections {
		oldest := c.byAge.Front().Value.(*connection)
		c.drop(oldest)
		_ = oldest.conn.Close()
		evicted = true
	}
	entry = &connection{conn: conn, client: client}
	entry.place = c.byAge.PushBack(entry)
	c.byClient[client]++
	return entry, evicted
}

// touch notes that a message came.
func (c *connections) touch(entry *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry.place != nil {
		c.byAge.MoveToBack(entry.place)
	}
}

// remove takes a connection out; it may have been evicted before.
func (c *connections) remove(entry *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(entry)
}

func (c *connections) drop(entry *connection) {
	if entry.place == nil {
		return
	}
	c.byAge.Remove(entry.place)
	entry.place = nil
	if c.byClient[entry.client]--; c.byClient[entry.client] == 0 {
		delete(c.byClient, entry.client)
	}
}

// closeAll closes every connection and lets no more in.
func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for e := c.byAge.Front(); e != nil; e = e.Next() {
		_ = e.Value.(*connection).conn.Close()
	}
}
