package honeypot

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	"github.com/realmgate/realmgate/internal/model"
)

// pot is a service, and who was banned by it, each time in order.
type pot struct {
	*Service
	rules  settings.Honeypot
	banned [][]Hit
}

func newPot() *pot {
	t := &pot{rules: settings.Honeypot{Ports: model.PortSet{TCP: []model.Ports{{First: 23, Last: 24}}}, BanTime: time.Hour}}
	t.Service = New(Options{
		Rules: func() settings.Honeypot { return t.rules }, Log: slog.New(slog.DiscardHandler),
		Ban: func(rules settings.Honeypot, all []Hit) error {
			slices.SortFunc(all, func(a, b Hit) int { return a.Address.Compare(b.Address) })
			if rules.BanTime == time.Hour {
				t.banned = append(t.banned, all)
			}
			return nil
		},
		Listening: func() (map[uint16]bool, error) { return map[uint16]bool{24: true, 25: true}, nil },
	})
	return t
}

// catch has addresses fall into the honeypot, at its ports by turns.
func (t *pot) catch(addresses ...string) {
	for i, a := range addresses {
		t.put(datapath.HoneypotEvent{Source: netip.MustParseAddr(a), Port: uint16(23 + i%2)})
	}
}

func caught(address string, port uint16) Hit { return Hit{netip.MustParseAddr(address), port} }

// Those who are caught are banned at once, whatever the ports, and each offender once, with what it did last.
func TestHitsAreBannedAtOnce(t *testing.T) {
	r := newPot()
	r.catch("203.0.113.1", "203.0.113.2", "2001:db8::1", "2001:db8::2")
	r.ban()
	want := []Hit{caught("203.0.113.1", 23), caught("203.0.113.2", 24), caught("2001:db8::2", 24)}
	if len(r.banned) != 1 || !slices.Equal(r.banned[0], want) {
		t.Errorf("banned are %v", r.banned)
	}
	for i := range mostWaiting + 1 { // of one link
		r.put(datapath.HoneypotEvent{Source: netip.AddrFrom16([16]byte{0x20, 1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}), Port: 23})
	}
	if waiting := r.take(); len(waiting) != 1 {
		t.Errorf("of one link %d wait", len(waiting))
	}
	for i := range mostWaiting + 1 {
		r.put(datapath.HoneypotEvent{Source: netip.AddrFrom4([4]byte{100, byte(i >> 16), byte(i >> 8), byte(i)}), Port: 23})
	}
	if waiting := r.take(); len(waiting) != mostWaiting {
		t.Errorf("%d wait", len(waiting))
	}
}

// A reload that takes the honeypot away forgives those who are not banned yet.
func TestHitsWithoutAHoneypotAreNotBanned(t *testing.T) {
	r := newPot()
	r.catch("203.0.113.2")
	r.rules = settings.Honeypot{}
	r.ban()
	r.rules = newPot().rules
	r.ban()
	if len(r.banned) > 0 {
		t.Errorf("banned are %v", r.banned)
	}
}

// Those who wait when the stream ends are banned.
func TestHitsAtAStopAreBanned(t *testing.T) {
	r := newPot()
	close(r.kick)
	r.waiting[netip.MustParsePrefix("203.0.113.1/32")] = caught("203.0.113.1", 23)
	r.banAll()
	if len(r.banned) != 1 || r.banned[0][0] != caught("203.0.113.1", 23) {
		t.Errorf("banned are %v", r.banned)
	}
}

// A honeypot at the port of a program of ours is told.
func TestHoneypotAtAPortOfOurs(t *testing.T) {
	r := newPot()
	var s api.Status
	if err := r.Report(&s); err != nil || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "tcp port 24, which is the honeypot's") {
		t.Errorf("%q, %v", s.Warnings, err)
	}
	r.rules.Ports = model.PortSet{UDP: r.rules.Ports.TCP}
	s = api.Status{}
	if err := r.Report(&s); err != nil || len(s.Warnings) != 0 {
		t.Errorf("of UDP: %q, %v", s.Warnings, err)
	}
}
