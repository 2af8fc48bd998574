package meter

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
)

// Per is whose packets are counted together.
type Per uint8

// What packets may have in common, as bpf/include/meter.h has it.
const (
	PerFlow    = Per(CMeterPerMETER_FLOW)
	PerSource  = Per(CMeterPerMETER_SOURCE)
	PerHost    = Per(CMeterPerMETER_HOST) // the private end
	PerService = Per(CMeterPerMETER_SERVICE)
)

// Unit is what is counted.
type Unit uint8

// What can be counted, as bpf/include/meter.h has it.
const (
	Packets  = Unit(CMeterUnitMETER_PACKETS)
	Bytes    = Unit(CMeterUnitMETER_BYTES) // of IP packets
	SYNs     = Unit(CMeterUnitMETER_SYNS)
	Sessions = Unit(CMeterUnitMETER_SESSIONS)
)

// Meter says how much may come. Its state is bounded: beyond Entries that are in use at
// once a function cannot say.
type Meter struct {
	Per     Per
	Unit    Unit
	Rate    float64       // units a second, above 0
	Window  time.Duration // 0: a token bucket
	Burst   time.Duration // a token bucket holds what comes in this time at the rate
	Entries int           // 32 bytes each
}

// SeesEveryPacket implements nf.Function.
func (m Meter) SeesEveryPacket() bool { return m.Unit != Sessions }

func (m Meter) settings(seed uint64) CMeterSettings {
	return CMeterSettings{
		Seed: seed, Window: uint64(m.Window), Burst: uint64(m.Burst), Most: uint64(m.Rate * m.Window.Seconds()),
		Price: uint64(float64(time.Second) / m.Rate * (1 << 16)), Buckets: m.buckets(), Per: uint8(m.Per), Unit: uint8(m.Unit),
	}
}

func (m Meter) buckets() uint32 {
	return 1 << bits.Len(uint(max(1, m.Entries/int(CMeterLimitMETER_WAYS))-1))
}

// Compile compiles a function that has a meter; program is its name in the object.
func (m Meter) Compile(program string, load func() (*ebpf.CollectionSpec, error), c nf.Context) (p nf.Compiled, err error) {
	spec, err := load()
	if err != nil {
		return p, fmt.Errorf("read %s: %w", program, err)
	}
	table := spec.Maps["meters"]
	table.MaxEntries = m.buckets()
	meters, err := c.States.Table(fmt.Sprintf("%s, %s, %d by %d, window %t", c.Name, program, m.Unit, m.Per, m.Window > 0), table)
	if err != nil {
		return p, err
	}
	p.Kept = map[string]*ebpf.Map{"meters": meters}
	metering, err := nf.ArrayOf(spec.Maps["metering"], []CMeterSettings{m.settings(c.States.Secret())})
	if err != nil {
		return p, fmt.Errorf("make its settings: %w", err)
	}
	p.Maps = map[string]*ebpf.Map{"metering": metering}
	if p.Maps["taken_dry"], err = ebpf.NewMap(spec.Maps["taken_dry"]); err != nil {
		return p, fmt.Errorf("make what a dry run takes: %w", err)
	}
	err = p.Take(spec.Programs[program], c)
	return p, err
}
