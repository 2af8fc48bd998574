package access

import (
	"net"
	"net/netip"
	"sync"
)

// Connections at a time by TCP, of all and of one address.
const (
	mostConnections = 256
	mostOfOne       = 32
)

// limitListener is a listener that closes at once what is too much: nobody takes all of the room.
type limitListener struct {
	net.Listener
	mutex sync.Mutex // guards what follows
	all   int
	of    map[netip.Addr]int
}

func newLimitListener(l net.Listener) *limitListener {
	return &limitListener{Listener: l, of: map[netip.Addr]int{}}
}

func (c *limitListener) Accept() (net.Conn, error) {
	for {
		one, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := networkOf(one.RemoteAddr().String())
		if !c.enter(from) {
			_ = one.Close() // it is told nothing
			continue
		}
		return &limitedConn{one, sync.OnceFunc(func() { c.leave(from) })}, nil
	}
}

func (c *limitListener) enter(a netip.Addr) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.all >= mostConnections || c.of[a] >= mostOfOne {
		return false
	}
	c.all++
	c.of[a]++
	return true
}

func (c *limitListener) leave(a netip.Addr) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.all--
	if c.of[a]--; c.of[a] == 0 {
		delete(c.of, a)
	}
}

// limitedConn is a connection that is counted.
type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// NetConn is for who asks the socket.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }
