package chain

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/cilium/ebpf"
)

// Per is whose packets are counted together.
type Per uint8

// What packets may have in common, as bpf/include/meter.h has it.
const (
	PerFlow    = Per(rateLimitMeterPerMETER_FLOW)
	PerSource  = Per(rateLimitMeterPerMETER_SOURCE)
	PerHost    = Per(rateLimitMeterPerMETER_HOST) // the private end
	PerService = Per(rateLimitMeterPerMETER_SERVICE)
)

// Unit is what is counted.
type Unit uint8

// What can be counted, as bpf/include/meter.h has it.
const (
	Packets  = Unit(rateLimitMeterUnitMETER_PACKETS)
	Bytes    = Unit(rateLimitMeterUnitMETER_BYTES) // of IP packets
	SYNs     = Unit(rateLimitMeterUnitMETER_SYNS)
	Sessions = Unit(rateLimitMeterUnitMETER_SESSIONS)
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

// SeesEveryPacket implements Function.
func (m Meter) SeesEveryPacket() bool { return m.Unit != Sessions }

func (m Meter) settings(seed uint64) rateLimitMeterSettings {
	return rateLimitMeterSettings{
		Seed: seed, Window: uint64(m.Window), Burst: uint64(m.Burst), Most: uint64(m.Rate * m.Window.Seconds()),
		Price: uint64(float64(time.Second) / m.Rate * (1 << 16)), Buckets: m.buckets(), Per: uint8(m.Per), Unit: uint8(m.Unit),
	}
}

func (m Meter) buckets() uint32 {
	return 1 << bits.Len(uint(max(1, m.Entries/int(rateLimitMeterLimitMETER_WAYS))-1))
}

// piece makes the piece of a function that has a meter.
func (m Meter) piece(name string, program string, load func() (*ebpf.CollectionSpec, error), shared Shared, states *States) (p piece, err error) {
	spec, err := load()
	if err != nil {
		return p, fmt.Errorf("read %s: %w", program, err)
	}
	table := spec.Maps["meters"]
	table.MaxEntries = m.buckets()
	meters, err := states.table(fmt.Sprintf("%s, %s, %d by %d, window %t", name, program, m.Unit, m.Per, m.Window > 0), table)
	if err != nil {
		return p, err
	}
	p.kept = map[string]*ebpf.Map{"meters": meters}
	metering, err := arrayOf(spec.Maps["metering"], []rateLimitMeterSettings{m.settings(states.secret())})
	if err != nil {
		return p, fmt.Errorf("make its settings: %w", err)
	}
	p.maps = map[string]*ebpf.Map{"metering": metering}
	err = p.take(spec.Programs[program], shared)
	return p, err
}
