package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/diagnose"
	"github.com/realmgate/realmgate/internal/machine"
	"github.com/realmgate/realmgate/internal/names/realm"
)

// diagnoseEvery is how often the machine is compared with the configuration.
const diagnoseEvery = 2 * time.Second

// diagnosis is where machine and configuration did not fit when they were compared last.
type diagnosis struct {
	warnings atomic.Pointer[[]string]
}

// remedies says it, and how the interfaces are now.
func (d *diagnosis) remedies(interfaces []datapath.Interface) (list []string) {
	if warnings := d.warnings.Load(); warnings != nil {
		list = append(list, *warnings...)
	}
	var vanished []string
	for _, i := range interfaces {
		if i.Mode == datapath.Absent {
			vanished = append(vanished, i.Name)
		}
	}
	return append(list, diagnose.Vanished(vanished)...)
}

// reportDiagnosis says where machine and configuration do not fit.
func (g *Gateway) reportDiagnosis(s *api.Status) error {
	s.Remedies = append(s.Remedies, g.doubts.remedies(g.data.Interfaces())...)
	return nil
}

// runDiagnosis compares the machine with the configuration until ctx ends.
func (g *Gateway) runDiagnosis(ctx context.Context) {
	var neighbours diagnose.Neighbours
	defer neighbours.Close()
	timer := time.NewTicker(diagnoseEvery)
	defer timer.Stop()
	var seen *config.Config
	var setup diagnose.Setup
	var said, others []string
	var looked time.Time // for other tenants
	for {
		v := g.view.Load()
		anew := v.config != seen || !slices.Equal(setup.Outbound, v.outbound)
		if anew {
			setup, seen = setupOf(v.config, v.outbound), v.config
			g.warn(nil, append(setup.Doubts(), v.shared().Rivals()...))
		}
		if now := time.Now(); anew || now.Sub(looked) >= tenantsEvery {
			others, looked = g.tenants(), now
		}
		warnings, err := g.diagnose(&setup, &neighbours, anew, others)
		if err == nil {
			g.doubts.warnings.Store(&warnings)
		} else {
			warnings = []string{err.Error()}
		}
		said = g.warn(said, warnings)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

func (g *Gateway) diagnose(setup *diagnose.Setup, neighbours *diagnose.Neighbours, anew bool, others []string) ([]string, error) {
	hops, _ := g.machine.LastNextHops() // the upkeep follows them, and has to see each change
	facts, err := diagnose.Collect(setup, hops)
	if err != nil {
		return nil, err
	}
	var failed error
	facts.InUse, failed = neighbours.Follow(setup, facts, anew, time.Now())
	warnings := setup.Compare(facts)
	if failed != nil {
		warnings = append(warnings, failed.Error())
	}
	return append(warnings, others...), nil
}

// warn logs what was not said before, and returns what is said by now.
func (g *Gateway) warn(said, warnings []string) []string {
	for _, w := range warnings {
		if !slices.Contains(said, w) {
			g.log.Warn("the configuration needs a look", "warning", w)
		}
	}
	return warnings
}

// Warnings says what a newcomer should know of the configuration, and, where this machine
// has some of its interfaces, which it lacks and where the two do not fit. With the right to send ARP it asks
// neighbours for some seconds at most.
func Warnings(ctx context.Context, d *config.Document) []string {
	c := d.Config
	plan := planOf(c)
	outbound, _ := plan.Look()
	if now, err := resolved(c, outbound); err == nil {
		c = now
	}
	setup := setupOf(c, outbound)
	warnings := setup.Doubts()
	var parts *view
	if r, err := realm.RegistryOf(d); err == nil {
		parts = partsOf(c, outbound, r)
		warnings = append(warnings, parts.shared().Rivals()...)
	}
	hops, _, err := machine.FindNextHops()
	if err != nil {
		return warnings
	}
	facts, err := diagnose.Collect(&setup, hops)
	if err != nil {
		return warnings
	}
	warnings = append(warnings, setup.Missing(facts)...)
	if !setup.IsHere(facts) {
		return warnings
	}
	if parts != nil {
		warnings = append(warnings, ownRemedies(parts.shared().OnInterfaces(facts.Own))...)
	}
	if len(facts.Missing) == 0 { // else that is why
		warnings = append(warnings, plan.Doubts(outbound, c.Outbound.Slots)...)
	}
	facts.InUse, err = diagnose.AskOnce(ctx, &setup, facts)
	warnings = append(warnings, setup.Compare(facts)...)
	warnings = append(warnings, tenantsOf(c, outbound, len(c.Interfaces.XDP) > 0, nil)...)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		warnings = append(warnings, err.Error())
	}
	return warnings
}

// missing says which interface is not there at the start, by its place in the file.
func missing(d *config.Document) error {
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

func setupOf(c *config.Config, outbound []netip.Addr) diagnose.Setup {
	s := diagnose.Setup{
		Public: c.Interfaces.Public, Private: c.Interfaces.Private, Nameserver: c.DNS.Public.Addr(),
		Pool: c.Pool.Addresses, Outbound: outbound, OneToOne: c.OneToOneAddresses(), Followed: c.Outbound.Interfaces, ForwardIPv6: c.IPv6 == config.IPv6Forward,
	}
	for _, h := range c.Hosts {
		s.Hosts = append(s.Hosts, diagnose.Host{Name: h.Name.String(), Address: h.Address})
	}
	return s
}
