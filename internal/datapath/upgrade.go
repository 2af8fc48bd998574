package datapath

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/mounts"
)

// ErrOtherLayout is CanAdopt's where this build lays out tables otherwise than who made those in the kernel.
var ErrOtherLayout = errors.New("its tables are laid out otherwise: a restart with this version ends its sessions")

// CanAdopt says whether this build can take over what an instance has in the kernel, and changes nothing. It is nil where there is
// nothing, too. Sizes are taken as they are: a configuration that wants others, or another namespace, is not looked at.
func CanAdopt(instance string) error {
	outer, _ := mounts.Outer()
	root, err := mounts.Path(outer, fileSystem)
	if err != nil || !isBPF(root) {
		return err
	}
	d := &core{options: Options{Instance: instance}, directory: instanceDirectory(root, instance)}
	old, err := d.pinnedLayout()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, errOtherSize):
		return ErrOtherLayout
	case err != nil:
		return err
	}
	spec, err := xdpSpec()
	if err != nil {
		return fmt.Errorf("read the compiled programs: %w", err)
	}
	for name := range tableSizes(&old, &d.options) { // their sizes are the configuration's
		if pinned, err := ebpf.LoadPinnedMap(d.pinPath(name), nil); err == nil {
			spec.Maps[name].MaxEntries = pinned.MaxEntries()
			_ = pinned.Close() // only looked at
		}
	}
	if shapeOf(spec) != old.Shape {
		return ErrOtherLayout
	}
	return nil
}
