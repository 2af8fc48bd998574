package connlimit

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
)

const (
	most = int(connlimitConnlimitLimitCONNLIMIT_MOST)
	ways = uint32(connlimitConnlimitLimitCONNLIMIT_WAYS)
	tick = time.Duration(1) << connlimitConnlimitLimitCONNLIMIT_TICK
	// brief is how long a connection counts that is not open, or that its source has
	// ended, or somebody in the other end's name: a host sends a SYN again after 1, 3 and 7 seconds.
	brief = 10 * time.Second
)

// ConnLimit drops what opens a connection of a source that has Connections open.
type ConnLimit struct {
	Connections int           // of a source, 1 to 64
	Idle        time.Duration // a connection without packets for so long is none
	Entries     int           // sources that are remembered at once, 525 bytes each
}

// SeesEveryPacket implements nf.Function: it hears of their ends.
func (ConnLimit) SeesEveryPacket() bool { return true }

func (l ConnLimit) buckets() uint32 {
	return 1 << bits.Len(uint((l.Entries+int(ways)-1)/int(ways))-1) // a power of two
}

// Compile implements nf.Function.
func (l ConnLimit) Compile(c nf.Context) (p nf.Compiled, err error) {
	spec, err := loadConnlimit()
	if err != nil {
		return p, fmt.Errorf("read connlimit: %w", err)
	}
	table := spec.Maps[connlimitMapConnlimitTable]
	table.MaxEntries = l.buckets()
	sources, err := c.States.Table(c.Name+", connlimit", table)
	if err != nil {
		return p, err
	}
	p.Kept = map[string]*ebpf.Map{connlimitMapConnlimitTable: sources}
	settings, err := nf.ArrayOf(spec.Maps[connlimitMapConnlimits], []connlimitConnlimitSettings{{
		Seed: c.States.Secret(), Most: uint32(l.Connections), Idle: uint32(l.Idle / tick),
		Brief: uint32(min(l.Idle, brief) / tick), Buckets: l.buckets(),
	}})
	if err != nil {
		return p, fmt.Errorf("make its settings: %w", err)
	}
	p.Maps = map[string]*ebpf.Map{connlimitMapConnlimits: settings}
	err = p.Take(spec.Programs[connlimitProgNfConnlimit], c)
	return p, err
}
