package datapath

// ReplayInside sends a frame again as it came in by a private interface, from a host that begins a flow. It is to run in the
// gateway's network namespace.
func (d *replayer) ReplayInside(ifindex int, frame []byte) error {
	switch mode, _ := d.portOf(ifindex); mode {
	case "":
		return errNoPort
	case XDP:
		program, err := d.Entry(XDP, false, false)
		if err != nil {
			return err
		}
		return d.runFrames(program, ifindex, frame, 1)
	}
	return d.replayBuffers(ifindex, frame, 1)
}

// SendInside sends a frame out by a private interface, untranslated.
func (d *replayer) SendInside(ifindex int, frame []byte) error { return d.send(ifindex, frame) }
