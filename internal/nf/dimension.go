package nf

import (
	"math"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	levels = int(classifierRulesLimitRULES_LEVELS)
	masks  = int(classifierRulesLimitRULES_MASKS)
)

// condition is what a rule asks of one dimension: a number from first to last, in
// some of the dimension's lanes, or one of a set, which is in the only lane.
type condition struct {
	first, last uint32
	lanes       uint16
	set         *model.AddressSet
}

// runs are the numbers for which it holds, in rising order.
func (c condition) runs() []model.AddressRange {
	if c.set != nil {
		return c.set.Ranges()
	}
	return []model.AddressRange{{First: c.first, Last: c.last}}
}

// dimension are the different conditions that rules have in one dimension. Each has a
// number, from 1; 0 is the condition that always holds.
type dimension struct {
	lanes   []uint32 // where each lane begins
	numbers map[condition]uint32
	list    []condition
	level   []uint8  // of each, from 1
	masks   []uint64 // of the rules that each stands in
	always  uint64   // masks of the rules that ask for nothing here
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

func (d *dimension) levelOf(number uint32) uint8 {
	if number == 0 {
		return 0
	}
	return d.level[number-1]
}

// note notes a mask of a rule that asks for a condition.
func (d *dimension) note(number uint32, mask int) {
	if number == 0 {
		d.always |= 1 << mask
		return
	}
	d.masks[number-1] |= 1 << mask
}

// address is a condition of addresses.
func address(p netip.Prefix, set *model.AddressSet) (c condition, always bool) {
	if set != nil {
		return condition{lanes: 1, set: set}, false
	}
	if !p.IsValid() || p.Bits() == 0 {
		return c, true
	}
	r := model.RangeOf(p)
	return condition{first: r.First, last: r.Last, lanes: 1}, false
}

// The lanes of services: ports, for each direction and protocol (rules_service).
var (
	laneDirections = []model.Direction{model.Out, model.In}
	laneProtocols  = []model.Protocol{model.ICMP, model.TCP, model.UDP, otherProtocols}
)

// otherProtocols stands for all that rules do not name (RULES_OTHERS of bpf/include/rules.h).
const otherProtocols model.Protocol = 255

func serviceLanes() (bases []uint32) {
	for _, d := range laneDirections {
		for _, p := range laneProtocols {
			bases = append(bases, uint32(d)<<24|uint32(p)<<16)
		}
	}
	return bases
}

// The values of source ports: those of what has some begin there (rules_source_port).
const sourcePortsFrom = 1 << 16

// sourcePort is the condition of source port.
func sourcePort(r Rule) (c condition, always bool) {
	if r.SourcePorts == (model.Ports{}) {
		return c, true
	}
	return condition{first: uint32(r.SourcePorts.First), last: uint32(r.SourcePorts.Last), lanes: 1}, false
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
				(r.Ports == (model.Ports{}) || p.HasPorts()) {
				c.lanes |= 1 << lane
			}
			lane++
		}
	}
	return c, r.Direction == model.AnyDirection && r.Protocol == model.AnyProtocol && r.Ports == model.Ports{}
}
