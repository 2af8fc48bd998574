package chain

import "fmt"

// Mirror is the function "mirror": every packet goes to who captures, and on to the next
// function.
type Mirror struct{}

// SeesEveryPacket implements Function.
func (Mirror) SeesEveryPacket() bool { return true }

func (Mirror) compile(_ string, shared Shared, _ *States) (p piece, err error) {
	spec, err := loadMirror()
	if err != nil {
		return p, fmt.Errorf("read mirror: %w", err)
	}
	p.tells = true
	err = p.take(spec.Programs["nf_mirror"], shared)
	return p, err
}
