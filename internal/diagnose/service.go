package diagnose

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
)

const (
	// lookEvery is how often the machine is compared with the configuration.
	lookEvery = 2 * time.Second
	// tenantsEvery is how often the machine's other tenants are looked for: large rule sets take
	// a while to read.
	tenantsEvery = 10 * time.Second
)

// State is a configuration in force.
type State struct {
	Config   *config.Config
	Outbound []netip.Addr // of now
	Doubts   []string     // that others have about it
}

// Hooks are what a Service needs.
type Hooks struct {
	State func() State
	Hops  func() []netip.Addr // next hops, of the last look
	// Tenants says what others on this machine do to the gateway's packets.
	Tenants func() []string
	// Absent are the interfaces that have vanished.
	Absent func() []string
	Log    *slog.Logger
}

// Service compares the machine with the configuration in force. Call New.
type Service struct {
	Hooks
	warnings atomic.Pointer[[]string] // where they did not fit last
}

// New makes a service that has not looked.
func New(h Hooks) *Service { return &Service{Hooks: h} }

// Report says where machine and configuration do not fit, and how the interfaces are now.
func (s *Service) Report(status *api.Status) error {
	if warnings := s.warnings.Load(); warnings != nil {
		status.Warnings = append(status.Warnings, *warnings...)
	}
	status.Warnings = append(status.Warnings, Vanished(s.Absent())...)
	return nil
}

// Run compares the machine with the configuration until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var neighbours Neighbours
	defer neighbours.Close()
	timer := time.NewTicker(lookEvery)
	defer timer.Stop()
	var seen *config.Config
	var setup Setup
	var said, others []string
	var looked time.Time // for other tenants
	for {
		v := s.State()
		anew := v.Config != seen || !slices.Equal(setup.Outbound, v.Outbound)
		if anew {
			setup, seen = SetupOf(v.Config, v.Outbound), v.Config
			s.warn(nil, append(setup.Doubts(), v.Doubts...))
		}
		if now := time.Now(); anew || now.Sub(looked) >= tenantsEvery {
			others, looked = s.Tenants(), now
		}
		warnings, err := s.look(&setup, &neighbours, anew, others)
		if err == nil {
			s.warnings.Store(&warnings)
		} else {
			warnings = []string{err.Error()}
		}
		said = s.warn(said, warnings)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
	}
}

func (s *Service) look(setup *Setup, neighbours *Neighbours, anew bool, others []string) ([]string, error) {
	facts, err := Collect(setup, s.Hops())
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
func (s *Service) warn(said, warnings []string) []string {
	for _, w := range warnings {
		if !slices.Contains(said, w) {
			s.Log.Warn("configuration warning", "warning", w)
		}
	}
	return warnings
}

// SetupOf is what a configuration wants of the machine, with its outbound addresses of now.
func SetupOf(c *config.Config, outbound []netip.Addr) Setup {
	s := Setup{
		Public: c.Interfaces.Public, Private: c.Interfaces.Private, Nameserver: c.DNS.Public.Addr(),
		Pool: c.Pool.Addresses, Outbound: outbound, OneToOne: c.Hosts.OneToOneAddresses(), Web: c.Web.Addresses, Followed: c.Outbound.Interfaces, ForwardIPv6: c.IPv6.Forwards(),
	}
	for _, h := range c.Hosts {
		s.Hosts = append(s.Hosts, Host{Name: h.Name.String(), Address: h.Address})
	}
	return s
}
