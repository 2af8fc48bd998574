package cli

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// someFlows are what observe shows.
func someFlows() []client.Flow {
	return []client.Flow{
		{
			Time: time.Date(2026, 11, 30, 9, 12, 3, 250e6, time.UTC), Event: "open", Verdict: "forwarded", Protocol: model.TCP, State: "established",
			From: netip.MustParseAddrPort("203.0.113.7:40312"), To: netip.MustParseAddrPort("10.0.0.100:8080"), Via: netip.MustParseAddrPort("198.18.0.37:80"),
			ToName: "hosta.foo.example.", Name: "www.hosta.foo.example.", Host: "hosta.foo.example.", Country: "DE",
		},
		{
			Time: time.Date(2026, 11, 30, 9, 12, 4, 0, time.UTC), Event: "drop", Verdict: "dropped", Reason: "drop_no_reservation", Protocol: model.TCP,
			From: netip.MustParseAddrPort("203.0.113.8:40313"), To: netip.MustParseAddrPort("198.18.0.40:22"), Lost: 3,
		},
	}
}

// someUsers are what trace finds.
func someUsers() client.Traced {
	return client.Traced{
		Begins: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
		Users: []client.TraceUser{
			{
				Protocol: model.UDP, External: netip.MustParseAddrPort("192.0.2.1:40312"), Private: netip.MustParseAddrPort("10.0.0.23:40312"),
				Host: "laptop.foo.example.", By: "mapping", Since: time.Date(2026, 11, 30, 9, 11, 58, 120e6, time.UTC),
				Until: time.Date(2026, 11, 30, 9, 16, 59, 4e6, time.UTC), Synchronised: true,
			},
			{
				Protocol: model.TCP, External: netip.MustParseAddrPort("192.0.2.1:40312"), Private: netip.MustParseAddrPort("10.0.0.24:40312"),
				By: "mapping", Since: time.Date(2026, 11, 30, 0, 0, 0, 9e6, time.UTC), Earlier: true,
			},
		},
	}
}
