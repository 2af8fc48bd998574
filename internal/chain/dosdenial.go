package chain

// DoSDenial is the function "dos-denial": it drops what comes faster than its meter
// says. With a window, what brought more in one window is dropped for all of the next
// (Hanna, figure 6.7).
type DoSDenial struct{ Meter }

func (d DoSDenial) compile(name string, shared Shared, states *States) (piece, error) {
	return d.piece(name, "nf_dos_denial", loadDosDenial, shared, states)
}
