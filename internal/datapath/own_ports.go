package datapath

import (
	"fmt"
	"os"
)

// reservePorts takes the ports that the kernel gives to its own sockets out of
// an outbound address that the gateway shares: sockets bound to other ports are
// looked up when a mapping is made. Ports in use by mappings stay so.
func (d *Datapath) reservePorts(outbound uint32) error {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return fmt.Errorf("read the kernel's port range: %w", err)
	}
	var first, last int
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil || first < 0 || last >= ports {
		return fmt.Errorf("read the kernel's port range %q: %w", text, err)
	}
	for array := outbound * protocols; array < (outbound+1)*protocols; array++ {
		var bitmap bpfPortBitmap
		if err := d.objects.PortBitmaps.Lookup(array, &bitmap); err != nil {
			return fmt.Errorf("read the ports in use: %w", err)
		}
		for port := first; port <= last; port++ {
			bitmap.Word[port/64] |= 1 << (port % 64)
		}
		if err := d.objects.PortBitmaps.Put(array, &bitmap); err != nil {
			return fmt.Errorf("reserve the kernel's ports: %w", err)
		}
	}
	return nil
}
