package link

import (
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// Times of the search for the path MTU (RFC 8899 §5.1), which the link's own end-to-end acknowledgements make quick.
const (
	probeWait    = time.Second // then a probe is lost: PROBE_TIMER
	probeTries   = 3           // MAX_PROBES
	probeConfirm = 10 * time.Second
	probeRaise   = 10 * time.Minute // PMTU_RAISE_TIMER
	probeBase    = 1280 + wire.Overhead
	probeDefault = 1500
)

// probeSizes are what paths carry, in octets of the outer packet: tunnels, PPPoE, Ethernet.
var probeSizes = []int{probeBase, 1400, 1420, 1450, 1480, 1492, probeDefault}

// prober finds out how large a packet passes to a peer: it sends probes of all sizes at once, takes the largest that was
// acknowledged, and tries that one again and again. It believes in no ICMP. Pure: the time is passed in. Sizes are octets of the
// outer packet.
type prober struct {
	sizes    []int           // rising; the first is taken to pass
	acked    []model.Instant // of each size, 0: never
	too      []bool          // of each size: larger than our own interface takes
	force    int             // index of the size in force
	heard    bool            // a probe has come through, and has not been missing since
	round    int             // of the search for a larger one, probeTries: it is over
	search   model.Instant   // when its next round is, or the next search
	confirm  model.Instant   // when the size in force is tried next
	lost     int             // how often it has been missing
	lostFrom model.Instant   // since when
}

// begin starts a search, up to a size. What was in force stays so as far as that.
func (p *prober) begin(now model.Instant, most int) {
	was := 0
	if p.sizes != nil {
		was = p.sizes[p.force]
	}
	p.sizes = slices.DeleteFunc(slices.Clone(probeSizes), func(s int) bool { return s >= most && s != probeBase })
	if most > probeBase {
		p.sizes = append(p.sizes, most)
	}
	p.acked, p.too = make([]model.Instant, len(p.sizes)), make([]bool, len(p.sizes))
	p.force = 0
	for i, s := range p.sizes {
		if s <= was {
			p.force = i
		}
	}
	p.round, p.search, p.confirm, p.lost = 0, now, now, 0
}

// inner is the largest inner packet, in octets.
func (p *prober) inner() int {
	if p.sizes == nil {
		return probeBase - wire.Overhead
	}
	return p.sizes[p.force] - wire.Overhead
}

// next are the sizes to send probes of now, the largest first, and when to ask again.
func (p *prober) next(now model.Instant) (sizes []int, at model.Instant) {
	send := make([]bool, len(p.sizes))
	if !now.Before(p.search) {
		p.larger(now, send)
	}
	if !now.Before(p.confirm) {
		p.again(now, send)
	}
	for i, s := range slices.Backward(p.sizes) {
		if send[i] && !p.too[i] {
			sizes = append(sizes, s)
		}
	}
	return sizes, min(p.search, p.confirm)
}

// larger is a round of the search.
func (p *prober) larger(now model.Instant, send []bool) {
	if p.round == probeTries {
		clear(p.too)
		p.round = 0
	}
	for i := p.force + 1; i < len(send); i++ {
		send[i] = true
	}
	p.round++
	p.search = now.Add(probeWait >> (probeTries - p.round)) // soon at first: the peer may not have been there yet
	if p.round == probeTries || p.force == len(p.sizes)-1 {
		p.round, p.search = probeTries, now.Add(probeRaise)
	}
}

// again tries the size in force, and, where it has been missing, the smaller ones beside it: so that the next one is known when the
// last try is lost.
func (p *prober) again(now model.Instant, send []bool) {
	if p.lost == 0 {
		p.lostFrom = now
	}
	if p.lost == probeTries {
		p.fall()
		p.lost, p.confirm = 0, now.Add(probeConfirm)
		return
	}
	for i := range send[:p.force+1] {
		send[i] = send[i] || p.lost > 0 || i == p.force
	}
	p.lost++
	p.confirm = now.Add(probeWait)
}

// fall takes the largest size that has come through while the one in force has not.
func (p *prober) fall() {
	for p.force > 0 {
		if p.force--; p.acked[p.force] >= p.lostFrom {
			return
		}
	}
	p.heard = p.acked[0] >= p.lostFrom
}

// got takes an acknowledgement of a size.
func (p *prober) got(now model.Instant, size int) {
	i, known := slices.BinarySearch(p.sizes, size)
	if !known {
		return
	}
	if p.acked[i] = now; !p.heard { // the tunnel is there, or there again: so may be what it carried
		p.heard, p.round, p.search = true, 0, now
	}
	if p.force = max(p.force, i); p.force == i {
		p.lost, p.confirm = 0, now.Add(probeConfirm)
	}
}

// tooBig says that our own interface does not take a size.
func (p *prober) tooBig(size int) {
	if i, known := slices.BinarySearch(p.sizes, size); known {
		p.too[i] = true
	}
}
