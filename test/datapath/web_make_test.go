package datapath

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
)

// laidOut are the options of a SYN, or of a SYN and ACK, in the order of a layout: p0f's words, and its commas.
func (a ability) laidOut(layout string, value, echo uint32) (o []byte) {
	if layout == "" {
		return a.options(value, echo)
	}
	for _, word := range strings.Split(layout, ",") {
		switch word {
		case "mss":
			o = append(o, 2, 4, byte(a.mss>>8), byte(a.mss))
		case "ws":
			o = append(o, 3, 3, byte(a.scale))
		case "sok":
			o = append(o, 4, 2)
		case "ts":
			o = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(append(o, 8, 10), value), echo)
		case "nop":
			o = append(o, 1)
		case "eol":
			o = append(o, 0)
		}
	}
	return o
}

// makes are TCPs of other makes: what they offer in their SYN, and in their SYN and ACK to clients with and without
// timestamps. From the signatures of p0f 3.09 (p0f.fp, [tcp:request] and [tcp:response]); lwIP's from tcp_output_segment
// in its tcp_out.c, as it is configured at first, and with all it can.
var makes = []struct {
	name                string
	can                 ability
	syn, stamped, plain string
}{
	{"Windows 7 and 8", ability{1460, 8, true, false}, "mss,nop,ws,nop,nop,sok", "", "mss,nop,ws,nop,nop,sok"},
	{"Windows 7 and 8 with timestamps", ability{1460, 8, true, true}, "mss,nop,ws,sok,ts", "mss,nop,ws,sok,ts", "mss,nop,ws,nop,nop,sok"},
	{"Windows XP with timestamps", ability{1460, 0, true, true}, "mss,nop,ws,nop,nop,ts,nop,nop,sok", "mss,nop,ws,nop,nop,ts,nop,nop,sok", "mss,nop,ws,nop,nop,sok"},
	{"FreeBSD 9", ability{1460, 6, true, true}, "mss,nop,ws,sok,ts", "mss,nop,ws,sok,ts", "mss,nop,ws,sok,eol"},
	{"macOS", ability{1460, 3, true, true}, "mss,nop,ws,nop,nop,ts,sok,eol", "mss,nop,ws,nop,nop,ts,sok,eol", "mss,nop,ws,sok,eol"},
	{"OpenBSD", ability{1460, 3, true, true}, "mss,nop,nop,sok,nop,ws,nop,nop,ts", "mss,nop,nop,sok,nop,ws,nop,nop,ts", "mss,nop,nop,sok,nop,ws"},
	{"Solaris 10", ability{1460, 0, true, true}, "mss,nop,ws,nop,nop,sok,nop,nop,ts", "nop,nop,ts,mss,nop,ws,nop,nop,sok", "mss,nop,ws,nop,nop,sok"},
	{"lwIP", ability{536, -1, false, false}, "mss", "", "mss"},
	{"lwIP with all", ability{1460, 2, true, true}, "mss,nop,nop,ts,nop,ws,nop,nop,sok", "mss,nop,nop,ts,nop,ws,nop,nop,sok", "mss,nop,ws,nop,nop,sok"},
}

// TCPs of other makes, each at each end of a connection with each: what they offer is understood and kept, and then all is
// translated.
func TestWebMakes(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	port := uint16(52000)
	for _, host := range makes {
		promise := datapath.WebPromise{MSS: host.can.mss, SACK: host.can.sack, Timestamps: host.can.timestamps}
		g.serves(promise)
		for _, c := range makes {
			port++
			t.Logf("client: %s, host: %s", c.name, host.name)
			v := g.visitor(endpoint(remote, port), c.can, host.can)
			v.syn = c.syn
			v.knocks(promise)
			v.connects("GET / HTTP/1.1\r\n")
			switch {
			case c.can.scale < 0 || !v.can.sack: // as Linux does; p0f has no layout of it
			case v.can.timestamps:
				v.synAck = host.stamped
			default:
				v.synAck = host.plain
			}
			v.opens()
			v.talks()
		}
	}
	g.count(len(makes) * len(makes))
	g.sound()
}
