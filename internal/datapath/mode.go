package datapath

import "github.com/realmgate/realmgate/internal/netdev"

// NoNativeMode is why the mode is generic where nothing can be done about it.
const NoNativeMode = "its driver runs no XDP programs"

// whyGeneric is why an interface with these features would run its program in generic mode.
func whyGeneric(features netdev.Features, known bool) string {
	switch {
	case !known:
		return "before Linux 6.3 the kernel cannot say whether it takes redirected frames"
	case !features.RunsPrograms():
		return NoNativeMode
	}
	return "it takes no redirected frames"
}

// followMode has the program of an interface in the driver where the interface takes
// redirected frames, and nowhere else: answers to ARP go back by the interface that the
// question came by. What it takes is told late: a veth that was made a moment ago takes
// none before its far side has receive offload.
func (d *Datapath) followMode(p *port) error {
	switch {
	case p.link == nil:
		return nil
	case p.mode == Native && !p.takes:
		d.options.Logger.Warn("attaching again in generic mode", "interface", p.name, "why", p.why)
		return d.reattach(p, []Mode{Generic})
	case p.mode == Generic && p.takes && !p.tried:
		err := d.reattach(p, []Mode{Native, Generic})
		d.options.Logger.Info("attached again", "interface", p.name, "mode", p.mode, "why", p.why)
		return err
	}
	return nil
}

// reattach attaches in another mode. The kernel does not hold both at a time; meanwhile
// it forwards nothing untranslated.
func (d *Datapath) reattach(p *port, modes []Mode) error {
	if err := writeSetting(p.name, "forwarding", 0); err != nil {
		return err
	}
	if d.directory != "" {
		_ = p.link.Unpin()
	}
	_ = p.link.Close()
	p.link = nil
	if err := d.attachFirst(p, modes); err != nil {
		return err
	}
	return d.prepareHost(p.name, p.ifindex)
}
