package datapath

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// tickShift: a stamp counts ticks of 2^28 ns (bpf/include/clock.h).
const tickShift = 28

func ticks(d time.Duration) uint32 {
	return uint32((d + 1<<tickShift - 1) >> tickShift)
}

// Service is what a session from the pool needs to be open: a port of a host,
// or with port 0 and model.AnyProtocol the whole host.
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
// generation are judged again at their next packet. build makes the chains of
// the generation; nil is for none.
func (d *Datapath) SetPolicy(settings Settings, services []Service, build BuildChains) (generation uint32, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return 0, fmt.Errorf("read the generation in force: %w", err)
	}
	next := control.Generation + 1
	record := bpfSettings{
		TcpEstablished: ticks(settings.TCPEstablished), TcpTransitory: ticks(settings.TCPTransitory),
		TcpClaim: ticks(settings.TCPClaim), Udp: ticks(settings.UDP), Icmp: ticks(settings.ICMP),
		PortQuarantine: ticks(settings.PortQuarantine), Filtering: uint8(settings.Filtering), Since: next,
	}
	if settings.ForwardIPv6 {
		record.Ipv6Forward = 1
	}
	if build != nil {
		if err := d.putChains(next, build); err != nil {
			return 0, err
		}
		record.Chains = 1
	}
	if err := d.objects.SettingsTable.Put(next&1, &record); err != nil {
		return 0, fmt.Errorf("write the settings of generation %d: %w", next, err)
	}
	wanted := make(map[bpfService]bool, len(services))
	for _, service := range services {
		key := service.record()
		wanted[key] = true
		if err := d.objects.ServiceTable.Put(&key, next); err != nil {
			return 0, fmt.Errorf("open port %d of %s (more than %d services need a restart): %w",
				service.Port, service.Host, d.options.Services, err)
		}
	}
	control.Generation = next
	if err := d.objects.ControlTable.Put(uint32(0), &control); err != nil {
		return 0, fmt.Errorf("switch to generation %d: %w", next, err)
	}
	if err := errors.Join(d.closeServices(wanted), d.grace()); err != nil {
		return next, err
	}
	return next, d.dropChains(next - 1)
}

func (d *Datapath) closeServices(wanted map[bpfService]bool) error {
	var key bpfService
	var since uint32
	var gone []bpfService
	entries := d.objects.ServiceTable.Iterate()
	for entries.Next(&key, &since) {
		if !wanted[key] {
			gone = append(gone, key)
		}
	}
	if err := entries.Err(); err != nil {
		return fmt.Errorf("list the open services: %w", err)
	}
	for _, key := range gone {
		if err := d.objects.ServiceTable.Delete(&key); err != nil {
			return fmt.Errorf("close port %d of %s: %w", swap(key.Port), addressOf(key.Host), err)
		}
	}
	return nil
}

// Generation returns the generation in force.
func (d *Datapath) Generation() (uint32, error) {
	var control bpfControl
	err := d.objects.ControlTable.Lookup(uint32(0), &control)
	return control.Generation, err
}

// RoutesChanged makes every session ask for its next hop again.
func (d *Datapath) RoutesChanged() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.epochNext()
}

func (d *Datapath) epochNext() {
	d.changeControl(func(c *bpfControl) { c.RouteEpoch = (c.RouteEpoch + 1) & 0xffff })
}

// WatchDrops tells the programs whether to sample drops.
func (d *Datapath) WatchDrops(on bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.changeControl(func(c *bpfControl) {
		c.WatchDrops = 0
		if on {
			c.WatchDrops = 1
		}
	})
}

func (d *Datapath) changeControl(change func(*bpfControl)) {
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
