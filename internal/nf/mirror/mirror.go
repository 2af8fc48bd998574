package mirror

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/nf"
)

// Mirror has nothing to be said of it, and is its own settings.
type Mirror struct{}

// SeesEveryPacket implements nf.Function.
func (Mirror) SeesEveryPacket() bool { return true }

// Compile implements nf.Function.
func (Mirror) Compile(c nf.Context) (p nf.Compiled, err error) {
	spec, err := loadMirror()
	if err != nil {
		return p, fmt.Errorf("read mirror: %w", err)
	}
	p.ToUser = true
	err = p.Take(spec.Programs["nf_mirror"], c)
	return p, err
}
