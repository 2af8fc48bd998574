package plane

import (
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/metrics/metric"
)

// Tables whose entries are measured.
const (
	sessionTable     = "session_table"
	mappingTable     = "mapping_table"
	reservationTable = "reservation_table"
	bindingTable     = "binding_table"
)

// Measure says how packets ended, and how full the tables are.
func (p *Plane) Measure(page metric.Page) error {
	counters, err := p.data.Counters()
	if err != nil {
		return err
	}
	for _, reason := range p.data.Reasons() {
		page.Put(metric.Packets, float64(counters[reason]), string(reason))
	}
	for _, i := range p.data.Interfaces() {
		metric.PutIf(page, metric.InterfaceAttached, i.Mode != datapath.Absent, i.Name, i.Side)
	}
	metric.PutIf(page, metric.Adopted, p.data.Adopted())
	usage, err := p.data.Usage()
	if err != nil {
		return err
	}
	ports, err := p.measurePorts(page)
	if err != nil {
		return err
	}
	measureUsage(page, &usage)
	page.Put(metric.MappingsLimit, float64(ports))
	page.Put(metric.TableLimit, float64(ports), mappingTable)
	return p.measureMemory(page)
}

func measureUsage(page metric.Page, usage *datapath.Usage) {
	page.Put(metric.Sessions, float64(usage.Sessions))
	page.Put(metric.SessionsLimit, float64(usage.Capacity))
	page.Put(metric.SessionsOpened, float64(usage.Opened))
	page.Put(metric.SessionsClosed, float64(usage.Closed))
	page.Put(metric.Mappings, float64(usage.Mappings))
	page.Put(metric.TableEntries, float64(usage.Sessions), sessionTable)
	page.Put(metric.TableEntries, float64(usage.Mappings), mappingTable)
	page.Put(metric.TableLimit, float64(usage.Capacity), sessionTable)
	page.Put(metric.TableLimit, float64(usage.Reservations), reservationTable)
	page.Put(metric.TableLimit, float64(usage.Bindings), bindingTable)
	page.Put(metric.TableFull, float64(usage.KnownFull), "known_table")
	page.Put(metric.TableFull, float64(usage.SubscribersFull), "subscriber_table")
	page.Put(metric.TableFull, float64(usage.RemotesFull), "remote_table")
	page.Put(metric.PoolClaims, float64(usage.Claims))
	page.Put(metric.PoolCookies, float64(usage.Overflowed))
	page.Put(metric.Refusals, float64(usage.Refusals))
	page.Put(metric.ICMPErrors, float64(usage.ICMPErrors))
	page.Put(metric.RingLost, float64(usage.EventsLost))
}

// measurePorts returns for how many mappings the outbound addresses that live have ports.
func (p *Plane) measurePorts(page metric.Page) (most int, err error) {
	slots, err := p.data.Slots()
	if err != nil {
		return 0, err
	}
	live, draining := 0, 0
	for _, s := range slots {
		switch s.State {
		case datapath.SlotLive:
			live++
		case datapath.SlotDraining:
			draining++
			continue
		default:
			continue
		}
		use, err := p.data.PortUse(s)
		if err != nil {
			return 0, err
		}
		for _, u := range use {
			page.Put(metric.PortsUsed, float64(u.Taken), s.Address.String(), u.Protocol.String())
			page.Put(metric.PortsLimit, float64(u.Most), s.Address.String(), u.Protocol.String())
		}
	}
	page.Put(metric.OutboundAddresses, float64(live), datapath.SlotLive.String())
	page.Put(metric.OutboundAddresses, float64(draining), datapath.SlotDraining.String())
	return live * portsEach, nil
}

// portsEach is for how many mappings an outbound address has ports: of three protocols, but for port 0.
const portsEach = 3 * 65535

func (p *Plane) measureMemory(page metric.Page) error {
	bytes, err := p.data.TableBytes()
	if err != nil {
		return err
	}
	for name, n := range bytes {
		page.Put(metric.MemoryBytes, float64(n), name)
	}
	page.Put(metric.ChainMemoryBytes, float64(p.data.ChainMemory()))
	return nil
}
