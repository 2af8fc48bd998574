package bench

import (
	"fmt"
	"testing"
)

func TestFlowsFor(t *testing.T) {
	for name, c := range map[string]struct {
		sessions, hosts, want, pool, sourcePorts, destinationPorts int
	}{
		"Lencse and Shima":     {40_000_000, 1, 40_000_000, 1, 40_000, 1000},
		"one host":             {1_000_000, 1, 1_000_000, 1, 40_000, 25},
		"one session":          {1, 1, 1, 1, 1, 1},
		"more hosts than work": {3, 16, 3, 3, 1, 1},
		"several hosts":        {1_000_000, 16, 1_000_000, 16, 12_500, 5},
		"many hosts":           {1_000_000, 250, 1_000_000, 16, 800, 5},
		"the most":             {MostSessions, MostHosts, 63_932_928, 16, 778, 321},
	} {
		t.Run(name, func(t *testing.T) {
			flows, pool := FlowsFor(c.sessions, c.hosts)
			if err := flows.Check(); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(flows.Count(), pool.Count, flows.SourcePorts.Count, flows.DestinationPorts.Count)
			if want := fmt.Sprint(c.want, c.pool, c.sourcePorts, c.destinationPorts); got != want {
				t.Errorf("sessions, addresses, source and destination ports: %s, want %s", got, want)
			}
		})
	}
}
