package chain

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	layers = int(classifierRulesLimitRULES_LAYERS)
	shapes = int(classifierRulesLimitRULES_SHAPES)
)

// condition is what a rule asks of one dimension: a number from first to last, in
// some of the dimension's lanes.
type condition struct {
	first, last uint32
	lanes       uint16
}

// dimension are the different conditions that rules have in one dimension. Each has a
// number, from 1; 0 is the condition that always holds.
type dimension struct {
	lanes   []uint32 // where each lane begins
	numbers map[condition]uint32
	list    []condition
	layer   []uint8  // of each, from 1
	shapes  []uint64 // of the rules that each stands in
	always  uint64   // shapes of the rules that ask for nothing here
}

func newDimension(lanes ...uint32) *dimension {
	return &dimension{lanes: lanes, numbers: map[condition]uint32{}}
}

func (d *dimension) number(c condition, always bool) uint32 {
	if always {
		return 0
	}
	n, known := d.numbers[c]
	if !known {
		d.list = append(d.list, c)
		n = uint32(len(d.list))
		d.numbers[c] = n
	}
	return n
}

// spread puts conditions that can hold at once into different layers, as few as can
// be where there is one lane.
func (d *dimension) spread(what string) error {
	d.layer, d.shapes = make([]uint8, len(d.list)), make([]uint64, len(d.list))
	order := make([]int, len(d.list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(d.list[a].first, d.list[b].first) })
	var taken [layers][16]int64 // up to there, of each lane
	for l := range taken {
		for lane := range taken[l] {
			taken[l][lane] = -1
		}
	}
	for _, i := range order {
		c := d.list[i]
		l := slices.IndexFunc(taken[:], func(ends [16]int64) bool {
			for lane := range d.lanes {
				if c.lanes>>lane&1 == 1 && ends[lane] >= int64(c.first) {
					return false
				}
			}
			return true
		})
		if l < 0 {
			return fmt.Errorf("more than %d different conditions of the %s hold at once", layers, what)
		}
		for lane := range d.lanes {
			if c.lanes>>lane&1 == 1 {
				taken[l][lane] = int64(c.last)
			}
		}
		d.layer[i] = uint8(l + 1)
	}
	return nil
}

func (d *dimension) layerOf(number uint32) uint8 {
	if number == 0 {
		return 0
	}
	return d.layer[number-1]
}

// stands notes a shape of a rule that asks for a condition.
func (d *dimension) stands(number uint32, shape int) {
	if number == 0 {
		d.always |= 1 << shape
		return
	}
	d.shapes[number-1] |= 1 << shape
}

// ranges cuts the dimension at the bounds of its conditions.
func (d *dimension) ranges() []classifierRulesRange {
	type bound struct {
		at     uint64
		layer  uint8
		number uint32 // 0: the condition in this layer ends
	}
	var bounds []bound
	for i, c := range d.list {
		for lane, base := range d.lanes {
			if c.lanes>>lane&1 == 1 {
				bounds = append(bounds, bound{uint64(base) + uint64(c.first), d.layer[i], uint32(i + 1)},
					bound{uint64(base) + uint64(c.last) + 1, d.layer[i], 0})
			}
		}
	}
	slices.SortFunc(bounds, func(a, b bound) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number)) })
	now := classifierRulesRange{Shapes: d.always}
	list := []classifierRulesRange{now}
	for i, b := range bounds {
		now.Condition[b.layer-1] = b.number
		if i+1 < len(bounds) && bounds[i+1].at == b.at || b.at > math.MaxUint32 {
			continue
		}
		now.First, now.Shapes = uint32(b.at), d.always
		for _, number := range now.Condition {
			if number > 0 {
				now.Shapes |= d.shapes[number-1]
			}
		}
		if b.at == 0 {
			list = list[:0]
		}
		list = append(list, now)
	}
	return list
}

// prefix is a condition of addresses.
func prefix(p netip.Prefix) (c condition, always bool) {
	if !p.IsValid() || p.Bits() == 0 {
		return c, true
	}
	first := number(p.Masked().Addr())
	return condition{first, first | uint32(math.MaxUint32>>p.Bits()), 1}, false
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// The lanes of services: ports, for each direction and protocol (rules_service).
var (
	laneDirections = []model.Direction{model.Out, model.In}
	laneProtocols  = []model.Protocol{model.ICMP, model.TCP, model.UDP}
)

func serviceLanes() (bases []uint32) {
	for _, d := range laneDirections {
		for _, p := range laneProtocols {
			bases = append(bases, uint32(d)<<24|uint32(p)<<16)
		}
	}
	return bases
}

// service is the condition of direction, protocol and port.
func service(r Rule) (c condition, always bool) {
	c.last = math.MaxUint16
	if r.Ports != (model.Ports{}) {
		c.first, c.last = uint32(r.Ports.First), uint32(r.Ports.Last)
	}
	lane := 0
	for _, d := range laneDirections {
		for _, p := range laneProtocols {
			if (r.Direction == model.AnyDirection || r.Direction == d) && (r.Protocol == model.AnyProtocol || r.Protocol == p) &&
				(r.Ports == (model.Ports{}) || p != model.ICMP) {
				c.lanes |= 1 << lane
			}
			lane++
		}
	}
	return c, r.Direction == model.AnyDirection && r.Protocol == model.AnyProtocol && r.Ports == model.Ports{}
}
