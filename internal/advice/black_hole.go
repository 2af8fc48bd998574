package advice

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

const (
	tooBig         = model.ReasonDropTooBig
	blackHoleEvery = 2 * time.Second  // how often drop_too_big is read
	blackHoleLook  = 30 * time.Second // drops are looked at for so long after it grew: who is not answered comes again by then
	blackHoleWait  = 2 * time.Second  // who is told adapts by then
	blackHoleFlows = 1024             // so many are remembered
)

// blackHoles are senders who are told that their packets are too long for the next hop (drop_too_big), and go on with
// packets no shorter: what they are told is lost on its way (RFC 2923 section 2.1).
type blackHoles struct {
	mutex sync.Mutex
	flows map[model.Tuple]told
}

// told is a sender of a flow that was told.
type told struct {
	first, last time.Time
	length      int    // of its frame, in octets
	side        string // it came from there
}

// deaf is one who did not hear it.
func (s told) deaf() bool { return s.last.Sub(s.first) >= blackHoleWait }

// note takes a dropped packet. Who has sent a shorter one than before has heard.
func (b *blackHoles) note(d api.Drop) {
	if d.Reason != tooBig {
		return
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	past := func(_ model.Tuple, s told) bool { return d.Time.Sub(s.last) > recentSpan }
	s, known := b.flows[d.Tuple]
	if !known && len(b.flows) >= blackHoleFlows {
		if maps.DeleteFunc(b.flows, past); len(b.flows) >= blackHoleFlows {
			return
		}
	}
	if !known || d.Length < s.length || past(d.Tuple, s) {
		s = told{first: d.Time, length: d.Length, side: d.Side}
	}
	s.last = d.Time
	if b.flows == nil {
		b.flows = map[model.Tuple]told{}
	}
	b.flows[d.Tuple] = s
}

// link is an interface that packets leave by, or the way of one destination.
type link struct {
	name string
	mtu  int // octets; 0: it is not the interface's
}

// hole is a link with flows that do not fit it.
type hole struct {
	link
	flows   int
	example model.Tuple
}

// warnings names what is too narrow for senders who did not hear it lately: the narrowest interface of the other side, or
// else the way to whom they send to. One line for each.
func (b *blackHoles) warnings(now time.Time, narrowest func(side string) link, mss model.MSS) (list []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	holes := map[string]hole{}
	for tuple, s := range b.flows {
		if !s.deaf() || now.Sub(s.last) > recentSpan {
			continue
		}
		l := narrowest(otherSide[s.side])
		if l.mtu == 0 || s.length <= l.mtu {
			l = link{name: "the route to " + tuple.Destination.Addr().String()}
		}
		h := holes[l.name]
		if h.flows == 0 || tuple.String() < h.example.String() {
			h.example = tuple
		}
		h.link = l
		h.flows++
		holes[l.name] = h
	}
	for _, name := range slices.Sorted(maps.Keys(holes)) {
		list = append(list, holes[name].warning(mss))
	}
	return list
}

func (h hole) warning(mss model.MSS) string {
	carries, mend := "less than its interface", "lower the MTU of the senders' interfaces"
	if h.mtu > 0 {
		carries, mend = fmt.Sprintf("%d octets", h.mtu), fmt.Sprintf("on the senders: ip link set dev INTERFACE mtu %d", h.mtu)
	}
	if h.example.Protocol == model.TCP && mss == model.MSSOff {
		mend = "set mss: auto, then realmgate reload"
	}
	return fmt.Sprintf("%s carries %s, and flows go on with longer packets though their senders are told (drop_too_big), %d of them, as %s: "+
		"ICMP is lost on its way to them; let it pass, or %s", h.name, carries, h.flows, h.example, mend)
}

// otherSide is where packets go that come from one.
var otherSide = map[string]string{"public": "private", "private": "public"}

// narrowestOf is the interface of a side that carries least.
func narrowestOf(interfaces []datapath.Interface, side string) (least link) {
	for _, i := range interfaces {
		if i.Side != side {
			continue
		}
		if found, err := net.InterfaceByIndex(i.Ifindex); err == nil && (least.mtu == 0 || found.MTU < least.mtu) {
			least = link{i.Name, found.MTU}
		}
	}
	return least
}

// runBlackHoles looks at drops while drop_too_big grows, until ctx ends.
func (s *Service) runBlackHoles(ctx context.Context) {
	tick := time.NewTicker(blackHoleEvery)
	defer tick.Stop()
	var drops chan api.Drop // nil while nobody looks
	leave := func() {
		if drops != nil {
			s.Drops.Leave(drops)
			drops = nil
		}
	}
	defer leave()
	counted, _ := s.data.Counters()
	grew := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case d := <-drops:
			s.blackHoles.note(d)
		case now := <-tick.C:
			if n, err := s.data.Counters(); err == nil {
				if n[tooBig] > counted[tooBig] {
					grew = now
				}
				counted = n
			}
			if now.Sub(grew) > blackHoleLook {
				leave()
			} else if drops == nil {
				drops, _ = s.Drops.Join()
			}
		}
	}
}
