package datapath

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
)

// What the kernel needs to forward the packets that we translate and hand to
// it (research in docs/reference/dataplane.md): forwarding, its own addresses
// as sources, and loose reverse path filtering, as the programs check reverse
// paths themselves; and no redirects, which turn a router's own routes.
var hostWanted = bpfHostSettings{Forwarding: 1, AcceptLocal: 1, RpFilter: 2}

func settingPath(name, setting string) string {
	return filepath.Join("/proc/sys/net/ipv4/conf", strings.ReplaceAll(name, "/", "."), setting)
}

func readSetting(name, setting string) (int32, error) {
	text, err := os.ReadFile(settingPath(name, setting))
	if err != nil {
		return 0, fmt.Errorf("read %s of %s: %w", setting, name, err)
	}
	value, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32)
	return int32(value), err
}

func writeSetting(name, setting string, value int32) error {
	if err := os.WriteFile(settingPath(name, setting), []byte(strconv.Itoa(int(value))), 0); err != nil {
		return fmt.Errorf("set %s of %s to %d: %w", setting, name, value, err)
	}
	return nil
}

// hostSetting is one that is ours while we serve an interface.
type hostSetting struct {
	name  string
	value *int32
}

// hostSettings lists them, forwarding first.
func hostSettings(s *bpfHostSettings) []hostSetting {
	return []hostSetting{
		{"forwarding", &s.Forwarding},
		{"accept_local", &s.AcceptLocal},
		{"rp_filter", &s.RpFilter},
		{"accept_redirects", &s.AcceptRedirects},
		{"send_redirects", &s.SendRedirects},
	}
}

func readHost(name string) (bpfHostSettings, error) {
	var settings bpfHostSettings
	var errs []error
	for _, s := range hostSettings(&settings) {
		var err error
		*s.value, err = readSetting(name, s.name)
		errs = append(errs, err)
	}
	return settings, errors.Join(errs...)
}

// writeHost sets forwarding last when it goes on and first when it goes off.
func writeHost(name string, wanted bpfHostSettings) error {
	list := hostSettings(&wanted)
	if wanted.Forwarding != 0 {
		slices.Reverse(list)
	}
	for _, s := range list {
		if err := writeSetting(name, s.name, *s.value); err != nil {
			return err
		}
	}
	return nil
}

// prepareHost remembers the interface's settings and sets ours. Call it after
// the program is attached.
func (d *hostKeeper) prepareHost(name string, ifindex int) error {
	if d.options.Single {
		return nil // nothing is forwarded
	}
	if err := d.rememberHost(name, ifindex); err != nil {
		return err
	}
	return writeHost(name, hostWanted)
}

// stopHost has the interface forward nothing, while no program is attached to it. What a single machine forwards is its own business.
func (d *hostKeeper) stopHost(name string, ifindex int) error {
	if d.options.Single {
		return nil
	}
	return errors.Join(d.rememberHost(name, ifindex), writeSetting(name, "forwarding", 0))
}

// rememberHost keeps the settings that the interface had before the first change,
// in a table that is pinned with the programs.
func (d *hostKeeper) rememberHost(name string, ifindex int) error {
	var before bpfHostSettings
	err := d.objects.HostTable.Lookup(uint32(ifindex), &before)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		if before, err = readHost(name); err != nil {
			return err
		}
		err = d.objects.HostTable.Put(uint32(ifindex), &before)
	}
	if err != nil {
		return fmt.Errorf("remember the settings of %s: %w", name, err)
	}
	return nil
}

// keepHost sets our settings again if somebody changed them: writing
// net.ipv4.ip_forward, for one, resets the forwarding of every interface.
func (d *hostKeeper) keepHost(name string) error {
	if d.options.Single {
		return nil
	}
	now, err := readHost(name)
	if err != nil || now == hostWanted {
		return err
	}
	d.options.Logger.Warn("interface settings changed by others", "interface", name,
		"forwarding", now.Forwarding, "accept_local", now.AcceptLocal, "rp_filter", now.RpFilter,
		"accept_redirects", now.AcceptRedirects, "send_redirects", now.SendRedirects)
	return writeHost(name, hostWanted)
}

// restoreInterface puts the interface's settings back.
func restoreInterface(table *ebpf.Map, ifindex uint32) error {
	var before bpfHostSettings
	err := table.Lookup(ifindex, &before)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the remembered settings of interface %d: %w", ifindex, err)
	}
	_ = table.Delete(ifindex)
	iface, err := netlink.LinkByIndex(int(ifindex))
	if err != nil {
		return nil //nolint:nilerr // the interface is gone, and its settings with it
	}
	return writeHost(iface.Attrs().Name, before)
}

// restoreHost puts back what any daemon of this instance changed.
func (d *hostKeeper) restoreHost() error {
	var changed []uint32
	var ifindex uint32
	var settings bpfHostSettings
	for entries := d.objects.HostTable.Iterate(); entries.Next(&ifindex, &settings); {
		changed = append(changed, ifindex)
	}
	var errs []error
	for _, ifindex := range changed {
		errs = append(errs, restoreInterface(d.objects.HostTable, ifindex))
	}
	return errors.Join(errs...)
}
