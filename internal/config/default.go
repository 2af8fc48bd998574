package config

import (
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// DefaultGeoTable is the file that says where addresses are.
const DefaultGeoTable = "/var/lib/realmgate/geo.table"

// defaults returns what holds where the file is silent.
func defaults() Config {
	return Config{
		DNS: DNS{Verify: VerifyTCP, Cache: 10_000},
		Pool: Pool{
			Order:      OrderRandom,
			Offer:      2 * time.Second,
			Again:      time.Second,
			Quarantine: time.Second,
			Claim:      5 * time.Second,
			Wait:       500 * time.Millisecond,
			Quotas:     Quotas{Client: 100, Resolver: 1000, Host: 1000, Service: 1000},
		},
		Outbound: Outbound{
			Filtering:  model.AddressDependent,
			Quarantine: 120 * time.Second, // RFC 6888 REQ-8
		},
		Timeouts: Timeouts{
			TCPEstablished: 7440 * time.Second, // RFC 5382 REQ-5: at least 2 h 4 min
			TCPTransitory:  240 * time.Second,  // RFC 5382 REQ-5: at least 4 min
			UDP:            300 * time.Second,  // RFC 4787 REQ-5: recommended
			ICMP:           60 * time.Second,   // RFC 5508 REQ-2: at least 60 s
		},
		Capacity:   1_000_000,
		IPv6:       IPv6Drop,
		Bans:       Bans{Factor: 2, Cap: usualCap, Memory: 24 * time.Hour},
		Protection: Protection{GeoTable: DefaultGeoTable, Honeypot: Honeypot{Ban: time.Hour}},
	}
}
