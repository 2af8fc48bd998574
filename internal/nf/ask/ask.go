package ask

import (
	"errors"
	"fmt"
	"maps"

	"github.com/realmgate/realmgate/internal/nf"
)

// Ask has flows asked about by a Line.
type Ask struct {
	Line  *Line
	Bytes bool // about the first bytes of their streams, and not their first packets
}

// SeesEveryPacket implements nf.Function: of streams until it has seen their first bytes.
func (a Ask) SeesEveryPacket() bool { return a.Bytes }

// WaitsForBytes implements nf.Waiter.
func (a Ask) WaitsForBytes() bool { return a.Bytes }

var errNobody = errors.New("there is nobody who asks its program")

// Compile implements nf.Function.
func (a Ask) Compile(c nf.Context) (p nf.Compiled, err error) {
	if a.Line == nil {
		return p, errNobody
	}
	spec, err := loadAsk()
	if err != nil {
		return p, fmt.Errorf("read ask: %w", err)
	}
	buffer, err := loadAskTCX()
	if err != nil {
		return p, fmt.Errorf("read ask: %w", err)
	}
	if err := a.Line.open(spec); err != nil {
		return p, err
	}
	p.Kept = maps.Clone(a.Line.tables)
	err = p.TakeBoth(spec.Programs[askProgNfAsk], buffer.Programs[askProgNfAsk], c)
	return p, err
}
