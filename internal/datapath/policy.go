package datapath

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

func ticks(d time.Duration) uint32 {
	return uint32((d + 1<<tickShift - 1) >> tickShift)
}

// Service is what a session from the pool needs to be open: a port of a host,
// with port 0 and model.ICMP its pings, and with port 0 and model.AnyProtocol the whole host. With an outbound address for
// a host it is a port that chains send on, or that bindings may have, and that no mapping is given.
type Service struct {
	Host     netip.Addr
	Port     uint16 // the host's own
	Protocol model.Protocol
}

func (s Service) record() bpfService {
	return bpfService{Host: networkOrder(s.Host), Port: swap(s.Port), Protocol: uint8(s.Protocol)}
}

// SetPolicy puts a new generation into force, whole: what it adds is there
// before the switch, what it closes leaves after it. Sessions of the older
// generation are judged again at their next packet. chains are what MakeChains
// made, nil for none. Where it returns generation 0, nothing has changed.
func (d *policyTable) SetPolicy(settings Settings, services []Service, chains *NextChains) (generation uint32, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return 0, fmt.Errorf("read the generation in force: %w", err)
	}
	outbound, err := d.Outbound()
	if err != nil {
		return 0, err
	}
	before, err := d.openServices()
	if err != nil {
		return 0, err
	}
	next := control.Generation + 1
	wanted := make(map[bpfService]bool, len(services))
	defer func() {
		if generation == 0 {
			err = errors.Join(err, d.takeBack(control.Generation, before, wanted), d.dropChains(next))
		}
		if d.open = wanted; err != nil {
			d.open = nil // the table says what there is
		}
	}()
	record := bpfSettings{
		PortQuarantine: ticks(settings.quarantine()), Filtering: uint8(settings.Filtering), Since: next,
		ClientSessions: math.MaxUint16, Mss: uint16(settings.MSS), Limits: settings.Limits.record(),
	}
	if settings.ClientSessions > 0 {
		record.ClientSessions = uint16(min(settings.ClientSessions, math.MaxUint16))
	}
	for of, idle := range settings.Timeouts {
		record.Timeout[of] = ticks(idle)
	}
	if err := putExcepts(&record, settings.Except); err != nil {
		return 0, err
	}
	if err := putWebPorts(&record, settings.WebTCP, settings.WebUDP); err != nil {
		return 0, err
	}
	if err := d.putOwners(next, settings.Own); err != nil {
		return 0, err
	}
	record.Owners = uint32(len(settings.Own))
	if settings.Refuse {
		record.Refuse = 1
	}
	if settings.NameServer.IsValid() {
		record.NameServer, record.NamePort = networkOrder(settings.NameServer.Addr()), swap(settings.NameServer.Port())
	}
	if settings.LooseReversePath {
		record.LooseReversePath = 1
	}
	if settings.ForwardIPv6 {
		record.Ipv6Forward = 1
	}
	if chains != nil {
		if err := d.putChains(next, chains); err != nil {
			return 0, err
		}
		record.Entry = [2]uint16{uint16(chains.made.In), uint16(chains.made.Out)}
		record.Input = uint16(chains.made.Input)
		if chains.made.Honeypot {
			record.Honeypot = 1
		}
		if chains.made.XDP.Dnat != nil {
			record.Dnat = 1
		}
		if chains.made.XDP.Protection != nil {
			record.Protects6 = 1
		}
	}
	if kept := keptPorts(services, slices.Concat(outbound, settings.Coming)); kept > 0 {
		record.Keeps, control.ExcludedPorts = kept, 1
	}
	if err := d.objects.SettingsTable.Put(next&1, &record); err != nil {
		return 0, fmt.Errorf("write the settings of generation %d: %w", next, err)
	}
	for _, service := range services {
		key := service.record()
		if err := d.objects.ServiceTable.Put(&key, next); err != nil {
			return 0, fmt.Errorf("open port %d of %s (more than %d services need a restart): %w",
				service.Port, service.Host, d.options.Services, err)
		}
		wanted[key] = true
	}
	control.Generation = next
	if err := d.objects.ControlTable.Put(uint32(0), &control); err != nil {
		return 0, fmt.Errorf("switch to generation %d: %w", next, err)
	}
	d.chainBytes.Store(chains.bytes())
	if err := errors.Join(d.closeServices(before, wanted), d.grace()); err != nil {
		return next, err
	}
	return next, d.dropChains(next - 1)
}

// keptPorts counts the services at the outbound address and protocol that have most of them.
func keptPorts(services []Service, outbound []netip.Addr) (most uint32) {
	kept := map[Service]uint32{}
	for _, s := range services {
		if slices.Contains(outbound, s.Host) {
			at := Service{Host: s.Host, Protocol: s.Protocol}
			kept[at]++
			most = max(most, kept[at])
		}
	}
	return most
}

func putExcepts(record *bpfSettings, prefixes []netip.Prefix) error {
	if len(prefixes) > MaxExcepts {
		return fmt.Errorf("%d destinations without NAT, at most %d", len(prefixes), MaxExcepts)
	}
	record.Excepts = uint32(len(prefixes))
	for i, p := range prefixes {
		mask := net.CIDRMask(p.Bits(), 32)
		record.Except[i].Address = networkOrder(p.Masked().Addr())
		record.Except[i].Mask = networkOrder(netip.AddrFrom4([4]byte(mask)))
	}
	return nil
}

// openServices lists the services that are open by a generation.
func (d *policyTable) openServices() (map[bpfService]bool, error) {
	if d.open != nil {
		return d.open, nil
	}
	open := map[bpfService]bool{}
	keys, values := make([]bpfService, atOnce), make([]uint32, atOnce)
	for cursor := new(ebpf.MapBatchCursor); ; {
		n, err := d.objects.ServiceTable.BatchLookup(cursor, keys, values, nil)
		for _, key := range keys[:n] {
			if !d.lasting[key] {
				open[key] = true
			}
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return open, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the open services: %w", err)
		}
	}
}

// closeServices closes those that are open and wanted no more.
func (d *policyTable) closeServices(open, wanted map[bpfService]bool) error {
	for key := range open {
		if wanted[key] {
			continue
		}
		if err := d.closeService(key); err != nil {
			return err
		}
	}
	return nil
}

// closeService closes one, unless it is open by itself.
func (d *policyTable) closeService(key bpfService) (err error) {
	if d.lasting[key] {
		err = d.objects.ServiceTable.Put(&key, d.lastingSince)
	} else {
		err = d.objects.ServiceTable.Delete(&key)
	}
	if err != nil {
		return fmt.Errorf("close port %d of %s: %w", swap(key.Port), addressOf(key.Host), err)
	}
	return nil
}

// takeBack makes the services those of the generation in force again, when the next one
// has put some of its own and does not come.
func (d *policyTable) takeBack(generation uint32, before, put map[bpfService]bool) error {
	for key := range put {
		if !before[key] {
			continue
		}
		if err := d.objects.ServiceTable.Put(&key, generation); err != nil {
			return fmt.Errorf("open port %d of %s for the generation in force: %w", swap(key.Port), addressOf(key.Host), err)
		}
	}
	return d.closeServices(put, before)
}

// Generation returns the generation in force.
func (d *core) Generation() (uint32, error) {
	var control bpfControl
	err := d.objects.ControlTable.Lookup(uint32(0), &control)
	return control.Generation, err
}

// RoutesChanged makes every session ask for its next hop again.
func (d *policyTable) RoutesChanged() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.epochNext()
}

func (d *core) epochNext() {
	d.changeControl(func(c *bpfControl) { c.RouteEpoch = (c.RouteEpoch + 1) & 0xffff })
}

func (d *core) changeControl(change func(*bpfControl)) {
	var control bpfControl
	if d.objects.ControlTable.Lookup(uint32(0), &control) != nil {
		return
	}
	before := control
	change(&control)
	if control != before {
		_ = d.objects.ControlTable.Put(uint32(0), &control)
	}
}
