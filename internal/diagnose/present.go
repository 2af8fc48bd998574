package diagnose

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/config"
)

// Present returns an error where an interface is not there at the start, by its place in the file.
func Present(d *config.Document) error {
	sides := d.Config.Interfaces
	for key, names := range map[string][]string{"public": sides.Public, "private": sides.Private} {
		for _, name := range names {
			if _, err := netlink.LinkByName(name); errors.As(err, new(netlink.LinkNotFoundError)) {
				return d.Wrong("interfaces", key, name, fmt.Sprintf("interface %s is not on this machine: correct the name, or have the interface there before the start", name))
			}
		}
	}
	return nil
}
