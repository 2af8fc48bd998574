package datapath

import (
	"fmt"
	"os"
)

// followOwnPorts tells the programs which ports the kernel gives to its own
// sockets: on an outbound address that the gateway shares they are not for
// mappings. Sockets bound to other ports are looked up when a mapping is made.
func (d *attachment) followOwnPorts() error {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return fmt.Errorf("read the kernel's port range: %w", err)
	}
	var first, last uint16
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil {
		return fmt.Errorf("read the kernel's port range %q: %w", text, err)
	}
	d.changeControl(func(c *bpfControl) { c.OwnFirst, c.OwnLast = first, last })
	return nil
}
