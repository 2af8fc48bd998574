package capture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// What may wait for one who captures: more packets are lost.
const (
	captureBuffer = 16 << 20 // bytes
	packetBytes   = 256      // what one takes beside its data
)

// capture is what one who captures wants, and what waits for it.
type capture struct {
	request   api.CaptureRequest
	functions map[uint32]string // that it wants the packets of, by number
	counted   map[uint32]uint64 // what each had lost when it was looked at last
	lost      uint64
	waiting   []api.Packet
	bytes     int           // of waiting
	ready     chan struct{} // holds a word when something waits
}

func newCapture(request api.CaptureRequest) *capture {
	return &capture{request: request, ready: make(chan struct{}, 1)}
}

// copies reports whether a function can say that a packet is to be copied; one of the
// user's own may.
func copies(f settings.Function) bool {
	c, may := f.Settings.(nf.Copier)
	return may && c.Copies()
}

// wants reports whether it is one of the functions that the request is for.
func wants(r api.CaptureRequest, f settings.Function) bool {
	return copies(f) && (r.Function == "" || r.Function == f.Name)
}

// canCapture says why a request can have no packets.
func canCapture(chains []settings.Chain, r api.CaptureRequest) error {
	i := slices.IndexFunc(chains, func(ch settings.Chain) bool { return ch.Name == r.Chain })
	if r.Chain == model.ProtectionName {
		return api.WithRemedy(api.Absent("the protection copies no packets"), "add {use: mirror} to a chain")
	}
	if i < 0 {
		return api.WithRemedy(api.Absent(fmt.Sprintf("there is no chain %q", r.Chain)), "see realmgate chain list")
	}
	functions := chains[i].Functions
	if slices.ContainsFunc(functions, func(f settings.Function) bool { return wants(r, f) }) {
		return nil
	}
	var able []string
	for _, f := range functions {
		if copies(f) {
			able = append(able, f.Name)
		}
	}
	if len(able) == 0 {
		return api.WithRemedy(api.Absent(fmt.Sprintf("no function of chain %s copies packets", r.Chain)), "add {use: mirror} to it, and reload")
	}
	return api.Absent(fmt.Sprintf("chain %s has no function %q that copies packets: it has %s", r.Chain, r.Function, strings.Join(able, ", ")))
}

// look finds the functions in a view. There may be none until a later one.
func (c *capture) look(data Data, functions Functions) error {
	counts, err := data.Counts()
	if err != nil {
		return err
	}
	c.count(counts)
	c.functions, c.counted = map[uint32]string{}, map[uint32]uint64{}
	for _, ch := range functions.Chains {
		for _, f := range ch.Functions {
			if ch.Name == c.request.Chain && wants(c.request, f) {
				number := functions.Number(ch.Name, f.Name)
				c.functions[number], c.counted[number] = f.Name, counts[number].Lost
			}
		}
	}
	return nil
}

// count adds what the data plane has lost since it was looked at last.
func (c *capture) count(counts []datapath.Count) {
	for number := range c.functions {
		n := counts[number]
		if n.Lost < c.counted[number] { // its counts began anew
			c.counted[number] = 0
		}
		c.lost += n.Lost - c.counted[number]
		c.counted[number] = n.Lost
	}
}

// put takes a packet of a function, if it is wanted and there is room.
func (c *capture) put(function uint32, p api.Packet) {
	name, wanted := c.functions[function]
	if !wanted {
		return
	}
	p.Function, p.Data = name, p.Data[:min(len(p.Data), c.request.Snap)]
	p.Comment = fmt.Sprintf("%s; of a flow that goes %s, %s", name, p.Direction, between(p.Tuple))
	if c.bytes+len(p.Data)+packetBytes > captureBuffer {
		c.lost++
		return
	}
	c.bytes += len(p.Data) + packetBytes
	c.waiting = append(c.waiting, p)
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// take returns what waits, with what was lost until now.
func (c *capture) take(data Data) ([]api.Packet, error) {
	var err error
	if len(c.functions) > 0 {
		var counts []datapath.Count
		if counts, err = data.Counts(); err == nil {
			c.count(counts)
		}
	}
	packets := c.waiting
	c.waiting, c.bytes = nil, 0
	for i := range packets {
		packets[i].Lost = c.lost
	}
	return packets, err
}
