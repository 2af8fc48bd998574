package dosdenial

import (
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
)

// DoSDenial drops what comes faster than its meter says. With a window, what brought more in one
// window is dropped for all of the next (Hanna, figure 6.7).
type DoSDenial struct{ meter.Meter }

// Compile implements nf.Function.
func (f DoSDenial) Compile(c nf.Context) (nf.Compiled, error) {
	return f.Meter.Compile("nf_dos_denial", loadDosDenial, c)
}
