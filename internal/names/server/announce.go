package server

import (
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/config"
)

// announce tells the log what is served by name, and what the zones above need to have.
func (s *Service) announce(c *config.Config) {
	names := 0
	for _, h := range c.Hosts {
		names++
		for _, service := range h.Services {
			names += len(service.Names)
		}
	}
	s.Log.Info("serving names", "zones", c.Realm.ZoneNames(), "hosts", len(c.Hosts), "names", names,
		"pool_addresses", len(c.Pool.Addresses), "delegate", strings.Join(delegations(c), ", "))
}

// delegations are the records for the zones above: name servers, and glue for one whose name
// is in a zone that it serves. A zone within another one of ours has ours above it.
func delegations(c *config.Config) (records []string) {
	glue := false
	for _, zone := range c.Realm.ZoneNames() {
		glue = glue || c.Realm.Nameserver.In(zone)
		below := false
		for _, other := range c.Realm.ZoneNames() {
			below = below || other != zone && zone.In(other)
		}
		if !below {
			records = append(records, fmt.Sprintf("%s NS %s", zone, c.Realm.Nameserver))
		}
	}
	if glue {
		records = append(records, fmt.Sprintf("%s A %s", c.Realm.Nameserver, c.DNS.Public.Addr()))
	}
	return records
}
