package ask

import (
	"time"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "ask", New: func(string) nf.Draft { return &draft{} }}

// Settings are which program is asked, and about what.
type Settings struct {
	Socket  string // of the program: a path
	First   First
	Timeout time.Duration // for the program's answer
}

// First is what of a flow the program sees.
type First uint8

// The program sees the first packet of a flow, or the first bytes of its stream.
const (
	Packet First = iota
	Bytes
)

// String returns the word of the configuration.
func (f First) String() string { return schema.Word(int(f), "first", "packet", "bytes") }

type draft struct{ settings Settings }

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	s := &d.settings
	s.Timeout = time.Second
	return []schema.Key{
		schema.One("socket", &s.Socket, schema.AbsolutePath()).Otherwise("none"),
		schema.One("first", &s.First, schema.Choice(Packet, Bytes)),
		schema.One("timeout", &s.Timeout, schema.Duration(10*time.Millisecond, 10*time.Second)),
	}
}

// mostPath is what an address of a Unix socket has room for (sun_path, unix(7)).
const mostPath = 107

// Finish implements nf.Draft.
func (d *draft) Finish(s *schema.Given) nf.Settings {
	s.Needs("socket")
	if line, _ := s.Has("socket"); len(d.settings.Socket) > mostPath {
		s.Add(line, "%s.socket: a path of %d octets, and a socket's has at most %d: choose a shorter one", s.Path, len(d.settings.Socket), mostPath)
	}
	return d.settings
}

// GoesOn implements nf.Excuser.
func (s Settings) GoesOn() string {
	if s.First == Bytes {
		return ": it asks the program at " + s.Socket + " when the flow's first bytes come"
	}
	return ": it asks the program at " + s.Socket + " when a packet comes"
}

// Function implements nf.Settings. The daemon keeps lines, as they are of all generations.
func (s Settings) Function(name string, n nf.Names) nf.Function {
	line, _ := n.Kept(name).(*Line)
	return Ask{Line: line, Bytes: s.First == Bytes}
}
