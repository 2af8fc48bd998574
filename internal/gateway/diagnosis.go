package gateway

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/diagnose"
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
			g.warn(nil, append(setup.Doubts(), v.rivals()...))
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
	hops, _ := g.hops.last(time.Now()) // the upkeep follows them, and has to see each change
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
// has all its interfaces, where the two do not fit. With the right to send ARP it asks
// neighbours for some seconds at most.
func Warnings(ctx context.Context, d *config.Document) []string {
	c := d.Config
	outbound, _ := planOf(c).Look()
	if now, err := resolved(c, outbound); err == nil {
		c = now
	}
	setup := setupOf(c, outbound)
	warnings := setup.Doubts()
	if _, r, err := namesIn(d); err == nil {
		warnings = append(warnings, partsOf(c, outbound, r).rivals()...)
	}
	hops, _, err := nextHops()
	if err != nil {
		return warnings
	}
	facts, err := diagnose.Collect(&setup, hops)
	if err != nil || !setup.IsHere(facts) {
		return warnings
	}
	facts.InUse, err = diagnose.AskOnce(ctx, &setup, facts)
	warnings = append(warnings, setup.Compare(facts)...)
	warnings = append(warnings, tenantsOf(c, outbound, len(c.Interfaces.XDP) > 0, nil)...)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		warnings = append(warnings, err.Error())
	}
	return warnings
}

func setupOf(c *config.Config, outbound []netip.Addr) diagnose.Setup {
	s := diagnose.Setup{
		Public: c.Interfaces.Public, Private: c.Interfaces.Private, Nameserver: c.DNS.Public.Addr(),
		Pool: c.Pool.Addresses, Outbound: outbound, ForwardIPv6: c.IPv6 == config.IPv6Forward,
	}
	for _, h := range c.Hosts {
		s.Hosts = append(s.Hosts, diagnose.Host{Name: h.Name.String(), Address: h.Address})
	}
	return s
}
