package web

import (
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/model"
)

// goes tells an RST that its client has sent from one of somebody off its path: it has the client's very next number (RFC 5961
// section 3.2), as far as that was heard, and acknowledges ours. A segment that is lost before it makes it no RST at all.
func (c *connection) goes(s segment) bool {
	return s.Has(ipv4.RST) && s.Sequence == c.next && s.acknowledges == c.first.acknowledges
}

// follow goes on with what a client has sent.
func (c *connection) follow(s segment) {
	if !s.Has(ipv4.RST) && c.has(s) && int32(s.end-c.next) > 0 {
		c.next = s.end
	}
}

// reset takes in an RST. Whose name is awaited has gone, and is nobody's place any more. To a host that is asked it is sent again
// behind the data, as it came.
func (t *table) reset(c *connection, s segment, now model.Instant) error {
	if c == nil || !c.goes(s) {
		return nil
	}
	c.acknowledged = false // nothing is owed to its host
	switch c.phase {
	case phaseReading:
		t.leave(c)
		t.counts.Refused++
		t.queue(c, &t.resting)
		c.phase, c.until, c.frames, c.stream = phaseOver, now.Add(restTime), nil, nil
	case phaseConnecting:
		return t.add(c, s)
	case phaseOpen:
		return t.kernel.Replay(c.ifindex, s.Frame, 1)
	}
	return nil
}
