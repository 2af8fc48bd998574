package advice

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

func numbered(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) }

// Those who have most are named, the greatest first, each with what stops it, and no more than three.
func TestTakersAreNamed(t *testing.T) {
	hosts, remotes := map[netip.Addr]datapath.Subscriber{}, map[netip.Addr]int{}
	for n := range 10 {
		hosts[numbered(n)] = datapath.Subscriber{Sessions: n, TCP: 2 * n}
		remotes[numbered(n)] = n
	}
	for what, list := range map[string][]string{
		"sessions end --address": hostTakers(hosts, new(config.Config), 45, false), "ban add": remoteTakers(remotes, 0, 45),
	} {
		if len(list) != takersNamed {
			t.Fatal(list)
		}
		for i, line := range list {
			if want := fmt.Sprintf("realmgate %s 10.0.0.%d", what, 9-i); !strings.HasSuffix(line, want) {
				t.Errorf("%q does not end with %s", line, want)
			}
		}
	}
}

// Who has little of what is used is named only if it is all that it may have: a table that forged sources fill is not
// the fault of those who were there.
func TestInnocentsAreNotNamed(t *testing.T) {
	const named, many = "10.0.0.7", "may be forged"
	forged, few := map[netip.Addr]int{}, map[netip.Addr]datapath.Subscriber{}
	crowd := map[netip.Addr]datapath.Subscriber{}
	for n := range 1000 {
		forged[numbered(n)] = 1
		crowd[numbered(n)] = datapath.Subscriber{Sessions: 1, TCP: 1}
	}
	few[numbered(7)], few[numbered(8)] = datapath.Subscriber{Sessions: 2, UDP: 2}, datapath.Subscriber{Sessions: 1, UDP: 1}
	limits, ports := new(config.Config), new(config.Config)
	limits.Limits.HostSessions = 2
	ports.Limits.HostPorts.UDP, ports.Limits.HostPorts.TCP, ports.Limits.HostPorts.ICMP = 2, 2, 2
	for name, c := range map[string]struct {
		list []string
		want string // what the only line contains; empty: there is none
	}{
		"forged sources have the table":           {remoteTakers(forged, 32, 1024), many},
		"and hosts little of it":                  {hostTakers(few, new(config.Config), 1024, false), ""},
		"hosts have the table":                    {hostTakers(crowd, new(config.Config), 1024, false), many},
		"and strangers little of it":              {remoteTakers(map[netip.Addr]int{numbered(7): 2, numbered(8): 1}, 32, 1024), ""},
		"a host at its limit":                     {hostTakers(few, limits, 1024, false), named},
		"a host with all its ports":               {hostTakers(few, ports, 1024, false), named},
		"a stranger at its limit":                 {remoteTakers(map[netip.Addr]int{numbered(7): 32, numbered(8): 1}, 32, 1024), named},
		"a stranger with a tenth":                 {remoteTakers(map[netip.Addr]int{numbered(7): 103, numbered(8): 1}, 0, 1024), named},
		"ports are short, many hosts have them":   {hostTakers(crowd, new(config.Config), 1024, true), many},
		"ports are short, and one has most of it": {hostTakers(map[netip.Addr]datapath.Subscriber{numbered(7): {TCP: 900}, numbered(8): {TCP: 9}}, new(config.Config), 1<<20, true), named},
	} {
		if c.want == "" && len(c.list) > 0 || c.want != "" && (len(c.list) != 1 || !strings.Contains(c.list[0], c.want)) {
			t.Errorf("%s: %q, want %q", name, c.list, c.want)
		}
	}
}

// Of one port's sessions few are many.
func TestFullestIsTheLeast(t *testing.T) {
	limits := new(config.Config)
	limits.Limits.BindingSessions = 512
	for reason, want := range map[model.Reason]int{"drop_session_table_full": 1024, "drop_binding_sessions": 512, "drop_mapping_sessions": 1024} {
		if got := (totals{reasons: map[model.Reason]uint64{reason: 1}}).fullest(limits, 1024); got != want {
			t.Errorf("%s: %d, want %d", reason, got, want)
		}
	}
}

// Who sends much of what is refused is named; of forged sources none is.
func TestRefusedSourcesAreNamed(t *testing.T) {
	refused := map[netip.Addr]int{}
	for n := range 100 {
		refused[numbered(n)] = 1
	}
	if list := refusedTakers(refused); len(list) != 1 || !strings.Contains(list[0], "forged") {
		t.Error(list)
	}
	refused[numbered(7)] = 300
	if list := refusedTakers(refused); len(list) != 1 || !strings.HasSuffix(list[0], "realmgate ban add 10.0.0.7") {
		t.Error(list)
	}
	if list := refusedTakers(map[netip.Addr]int{numbered(1): refusedLeast - 1}); list != nil {
		t.Error(list)
	}
}

// data has one host with as many sessions as the configuration lets it have.
type data struct{ Data }

func (data) Subscribers() (map[netip.Addr]datapath.Subscriber, error) {
	return map[netip.Addr]datapath.Subscriber{netip.MustParseAddr("10.0.0.100"): {Sessions: 1, TCP: 1}}, nil
}

// A host that has reached its limit is named as long as the refusals are recent, and nobody where nothing is refused.
func TestWhoTakesIsNamed(t *testing.T) {
	c := new(config.Config)
	c.Limits.HostSessions = 1
	s := New(Options{Config: func() *config.Config { return c }})
	s.data = data{}
	named := func(refused uint64) bool {
		list := s.takers(totals{reasons: map[model.Reason]uint64{"drop_host_sessions": refused}}, 1)
		return len(list) == 1 && strings.HasSuffix(list[0], "realmgate sessions end --address 10.0.0.100")
	}
	if named(0) || !named(1) {
		t.Errorf("named with nothing refused %v, else %v", named(0), named(1))
	}
}
