package config

import (
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// defaults returns what holds where the file is silent.
func defaults() Config {
	return Config{
		DNS: DNS{Verify: VerifyTCP, Cache: 10_000, WaitLimit: 128, RebindProtection: true},
		Pool: Pool{
			Order: OrderRandom,
			Offer: 2 * time.Second,
			// Longer than clients keep an address, whatever its TTL: Firefox for 660 s, behind a resolver that adds a minute.
			Rest:   730 * time.Second,
			Refuse: true,
			Wait:   500 * time.Millisecond,
			Bands:  []Band{{0.5, 0.2, 0.3}, {0.75, 0.3, 0.4}}, Reserve: 0.1,
			Quotas: Quotas{Client: 100, Resolver: 1000, Host: 1000, Service: 1000, ClientSessions: 256},
		},
		Outbound: Outbound{
			Filtering:  model.AddressDependent,
			Quarantine: 120 * time.Second, // RFC 6888 REQ-8
		},
		Timeouts: Timeouts{
			TCPEstablished: 7440 * time.Second, // RFC 5382 REQ-5: at least 2 h 4 min
			TCPTransitory:  240 * time.Second,  // RFC 5382 REQ-5: at least 4 min
			UDP:            300 * time.Second,  // RFC 4787 REQ-5: recommended
			UDPUnanswered:  30 * time.Second,
			DNS:            6 * time.Second,   // RFC 4787 REQ-5a: longer than stub resolvers wait for an answer (5 s)
			ICMP:           60 * time.Second,  // RFC 5508 REQ-2: at least 60 s
			Others:         600 * time.Second, // as netfilter's generic timeout
		},
		Limits:   defaultLimits,
		Capacity: 1_000_000,
		IPv6:     IPv6Drop,
	}
}
