package cli

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// populated has something of every kind, in no order.
func populated() *fakeDaemon {
	endpoint, address := netip.MustParseAddrPort, netip.MustParseAddr
	return &fakeDaemon{
		history: formerly,
		bans: []client.Ban{
			{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Since: started, Exempt: "in part: the allowlist has it: set friends"},
			{Prefix: netip.MustParsePrefix("2001:db8::/64"), Since: started, Reason: "manual"},
			{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Since: started, Until: started.Add(100 * time.Hour), Reason: "jail ssh: 5 failures, offence 2", Offence: 2},
		},
		tokens: []client.Token{
			{Name: "ann", Role: api.Admin, Created: started, Expires: started.Add(time.Hour)},
			{Name: "prometheus", Role: api.Read, Created: started, Expires: started.Add(90 * 24 * time.Hour), Used: started.Add(26 * time.Hour)},
		},
		jails: []client.Jail{
			{Name: "ssh", File: "/var/log/auth.log", Lines: 1_234_567, Failures: 4711, NoAddress: 2, Offences: 12},
			{Name: "mail", Command: []string{"/usr/bin/journalctl", "-fu", "postfix"}, Ends: 3, Error: "ended: exit status 1", Stderr: "No journal files were found."},
		},
		names: []api.Name{
			{Service: "dns.hosta.foo.example.", Host: "hosta.foo.example.", Asked: 3, Refused: 3, Asker: address("203.0.113.7"), Last: started, Why: "no pool address is free"},
			{Service: "www.hosta.foo.example.", Host: "hosta.foo.example.", Address: address("198.18.0.33"), Asked: 1_234_567, Lent: 1_234_560, Refused: 7, Asker: address("203.0.113.8"), Last: started.Add(26 * time.Hour)},
			{Service: "mail.hostb.foo.example.", Host: "hostb.foo.example."},
		},
		web: []api.WebHost{
			{
				Host: "hosta.foo.example.", Inside: address("10.0.0.100"), Address: address("198.18.0.80"), State: api.WebAsked, MSS: 1460, Scale: true, SACK: true, Timestamps: true,
				Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 8080}, {Protocol: model.TCP, Port: 443, To: 443}}, Asked: started,
				Certificate: []string{"www.hosta.foo.example.", "*.shop.foo.example."}, Left: 3,
			},
			{Host: "hostb.foo.example.", Inside: address("10.0.0.101"), Address: address("198.18.0.80"), State: api.WebUnknown, Ports: []model.Port{{Protocol: model.TCP, Port: 443, To: 443}}, Certificate: []string{}},
		},
		sinks: []client.Sink{
			{Name: "log", File: "/var/log/realmgate/events.jsonl", Delivered: 1_234_567, Queued: 3},
			{Name: "siem", Command: []string{"/usr/bin/logger", "-t", "realmgate"}, Kinds: []event.Kind{"ban"}, Delivered: 4, Lost: 4711, Queued: 1024, Failures: 2, Error: "the command has read nothing for 10s"},
			{Name: "hook", Webhook: "https://hooks.example", Delivered: 12},
			{Name: "mail", Mail: []string{"root@example.net", "noc@example.net"}, Delivered: 4711, Queued: 12},
			{Name: "chat", Telegram: "-1001234567890", Delivered: 4711, Failures: 1, Error: "the server answered 429: Too Many Requests: retry after 9"},
		},
		lists: []client.List{
			{
				Name: "drop", Source: "https://user:xxxxx@lists.example/drop.txt", Entries: 1532, LeftOut: 2,
				Fetched: started, Checked: started.Add(26 * time.Hour), Next: started.Add(27 * time.Hour),
			},
			{Name: "partners", Source: "http://lists.example/", Failures: 3, Error: "the server answered 404 \x1b[2JNot Found"},
		},
		config: client.Config{Generation: 3, Files: []client.ConfigFile{
			{File: "/etc/realmgate.yaml", Text: "# The edge.\npool: {addresses: [198.18.0.32/28]}\n"}, {File: "/etc/realmgate.d/hosts.yaml", Text: "hosts: []\n"},
		}, Effective: "pool:\n  addresses: [198.18.0.32/28]\n  rest: 730s\n"},
		diff: client.ConfigDiff{
			Generation: 3, File: "/etc/realmgate.yaml", Restart: []string{"capacity"}, Left: 4711,
			Differences: []client.Difference{
				{Key: "pool.rest", Was: "730s", Is: "60s"}, {Key: "capacity", Was: "1000000", Is: "2000000"},
				{Key: "hosts", Was: "hostb.foo.example."}, {Key: "hosts[hosta.foo.example.].services", Is: "git.foo.example."},
			},
			Services: []client.ServiceChange{
				{Host: "hostb.foo.example.", Name: "www.hostb.foo.example.", Closes: []model.Port{{Protocol: model.TCP, Port: 80, To: 8080}, {Protocol: model.TCP, Port: 443, To: 443}}, Sessions: 12},
				{Host: "hosta.foo.example.", Name: "git.foo.example.", Opens: []model.Port{{Protocol: model.TCP, Port: 22, To: 22}}},
			},
		},
		flows: someFlows(), traced: someUsers(),
		explained: client.Explanation{
			From: address("203.0.113.7"), To: "www.hosta.foo.example.", Protocol: model.TCP, Port: 80, Direction: "in", Generation: 3,
			Steps: []client.ExplainStep{
				{Step: "name", Says: "lend", Why: "www.hosta.foo.example. is tcp 10.0.0.100:8080"},
				{Step: "ban", Says: "continue", Why: "203.0.113.7 is not banned"},
				{Step: "chain", Says: "web", Why: "the first that matches"},
				{Step: "web/filter", Says: "drop", Why: "filter"},
			},
			Ending: client.Ending{Reason: "drop_denied", Function: "web/filter"},
		},
		chains: []client.Chain{
			{
				Name: "web", Changes: []string{}, Match: []map[string]string{{"service": "www.hosta.foo.example.", "direction": "in"}, {"set": "bad"}},
				Functions: []client.Function{
					{Name: "friends", Use: "filter", Priority: 10, Seen: 12_345_678, Dropped: 345_678, Samples: 12_056, NsEach: 84},
					{Name: "filter", Use: "filter", Priority: 20, Seen: 12_000_000, Failed: 3},
				},
			},
			{Name: "out", Match: []map[string]string{{}}, Functions: []client.Function{}, Changes: []string{"removed filter", "moved a"}},
			{
				Name: "shop", Changes: []string{}, Match: []map[string]string{{"to": "198.18.0.2/32", "port": "80"}},
				Functions: []client.Function{{Name: "multipath", Use: "multipath", Priority: 100, Seen: 4, Backends: []client.Backend{
					{To: address("10.0.0.100"), Port: 8080, Weight: 2, State: "up", Since: started},
					{To: address("10.0.0.101"), Port: 8080, Weight: 1, State: "down", Since: started.Add(26 * time.Hour), Error: "connect: refused"},
					{To: address("10.0.0.102"), Weight: 1, State: "unchecked"},
				}}},
			},
		},
		status: client.Status{
			Instance: "default", Version: "v0.1.0", PID: 4711, Config: "/etc/realmgate.yaml", Started: started,
			Adopted: true, Generation: 3, Unconfirmed: &client.Unconfirmed{Generation: 3, Since: started, By: "user 1000", Seconds: 95, Back: 42},
			Outbound: []client.Outbound{
				{Address: netip.MustParseAddr("198.18.0.2"), State: "live", Hosts: 1}, {Address: netip.MustParseAddr("198.18.0.9"), State: "draining"},
			},
			Slots: 3,
			Interfaces: []client.Interface{
				{Name: "eth0", Side: "public", Mode: "xdp", Why: "its driver runs XDP programs", Redirect: true},
				{Name: "eth1", Side: "private", Mode: "tcx", Why: "its driver runs no XDP programs"},
				{Name: "eth2", Side: "private", Mode: "absent"},
			},
			Sessions: client.Gauge{Used: 1234, Capacity: 1_000_000}, Mappings: client.Gauge{Used: 196_604, Capacity: 196_605},
			Half: client.Gauge{Used: 3}, Addresses: client.Gauge{Used: 16, Capacity: 16}, Places: client.Gauge{Used: 16, Capacity: 20},
			Registered: &client.Gauge{Used: 1, Capacity: 10_000},
			Bytes:      95_400_000, ChainBytes: 2_200_000, Lent: 12_345_678, Claimed: 12_000_000, Expired: 345_678,
			DNS:           client.DNS{Queries: 9, Answered: 4, Refused: 1, Truncated: 2, Exhausted: 1, Forwarded: 5, UpstreamFailed: 3, WaitLimited: 7, RebindBlocked: 6, OwnRemoved: 8, NotInside: 2},
			Web:           &client.Web{Waiting: 3, Read: 12_000, Opened: 11_900, Refused: 90, Full: 4, Again: 7, Replayed: 24_000, Times: []uint64{9000, 2500, 300, 80, 15, 5}},
			Reasons:       []client.ReasonCount{{Reason: "drop_no_reservation", Packets: 12}, {Reason: "forwarded", Packets: 1_048_576}, {Reason: "answered_arp", Packets: 12}},
			ChangedChains: []client.ChangedChain{{Chain: "out", Changes: []string{"removed filter", "moved a"}}},
			Warnings: []string{
				"the pool had no address 1 times: add pool.addresses, or shorten pool.rest",
			},
		},
		sessions: []client.Session{
			{
				Protocol: model.TCP, Private: endpoint("10.0.0.100:8080"), External: endpoint("198.18.0.33:80"), Remote: endpoint("192.0.2.9:40000"),
				State: "established", Origin: "pool", Host: "hosta.foo.example.", Name: "www.hosta.foo.example.", Age: 3723.4, Idle: 0.26,
			},
			{
				Protocol: model.ICMP, Private: endpoint("10.0.0.100:77"), External: endpoint("198.18.0.2:1077"), Remote: endpoint("192.0.2.9:0"),
				State: "open", Origin: "inside", Host: "hosta.foo.example.", Age: 12, Idle: 12,
			},
			{
				Protocol: model.UDP, Private: endpoint("10.0.0.9:5353"), External: endpoint("198.18.0.2:5353"), Remote: endpoint("198.18.0.2:1024"),
				State: "open", Origin: "mapping", Hairpin: true, Age: 900_000, Idle: 299,
			},
		},
		pool: []client.Binding{
			{
				Address: address("198.18.0.33"), Service: "www.hosta.foo.example.", Host: "hosta.foo.example.", Private: address("10.0.0.100"),
				Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 8080}, {Protocol: model.TCP, Port: 443, To: 443}}, State: "bound",
				Sessions: 12, Reservations: 1, Claims: 1, Rests: 129.6,
			},
			{
				Address: address("198.18.0.40"), Service: "hosta.foo.example.", Host: "hosta.foo.example.", Private: address("10.0.0.100"),
				Ports: []model.Port{{}}, State: "resting", Rests: 0.4,
			},
		},
		hosts: []client.Host{
			{Name: "hostb.foo.example.", Address: address("10.0.0.101"), Open: []model.Port{}, Services: []client.Service{}},
			{Name: "hostc.foo.example.", Address: address("10.0.0.102"), Open: []model.Port{{}}, Services: []client.Service{
				{Names: []string{"hostc.foo.example."}, Ports: []model.Port{{}}},
			}},
			{Name: "hosta.foo.example.", Address: address("10.0.0.100"), Open: []model.Port{}, Services: []client.Service{
				{Names: []string{"www.hosta.foo.example.", "*.shop.foo.example."}, Ports: []model.Port{
					{Protocol: model.TCP, Port: 80, To: 8080}, {Protocol: model.TCP, Port: 443, To: 443}, {Protocol: model.TCP, Port: 50000, To: 50000},
					{Protocol: model.TCP, Port: 50001, To: 50001}, {Protocol: model.TCP, Port: 50002, To: 50002},
				}},
				{Names: []string{"dns.hosta.foo.example."}, Ports: []model.Port{{Protocol: model.UDP, Port: 53, To: 53}}},
			}},
			{Name: "laptop.foo.example.", Address: address("10.0.1.5"), Open: []model.Port{}, Services: []client.Service{}, Source: "dnsmasq", Ends: started.Add(27 * time.Hour)},
			{Name: "hostd.foo.example.", Address: address("10.0.0.103"), Open: []model.Port{{Protocol: model.ICMP}, {Protocol: model.TCP, Port: 22, To: 22}}, Services: []client.Service{
				{Names: []string{"hostd.foo.example.", "git.foo.example."}, Ports: []model.Port{{Protocol: model.ICMP}, {Protocol: model.TCP, Port: 22, To: 22}}},
			}},
		},
		packets: []client.Packet{
			{Time: started.Add(123_456_789), Interface: "eth0", Comment: "mirror; of a flow that goes in", Function: "mirror", Direction: "in", Length: 64, Data: []byte("\x02\x00\x00\x00\x00\x01abcdef\x08\x00"), Tuple: model.Tuple{
				Protocol: model.TCP, Source: endpoint("192.0.2.9:40000"), Destination: endpoint("10.0.0.100:8080"),
			}},
			{Time: started.Add(2 * time.Second), Interface: "eth1", Comment: "mirror; of a flow that goes in", Function: "mirror", Direction: "in", Length: 3, Data: []byte{1, 2, 3}, Lost: 1200, Tuple: model.Tuple{
				Protocol: model.TCP, Source: endpoint("10.0.0.100:8080"), Destination: endpoint("192.0.2.9:40000"),
			}},
		},
		drops: []client.Drop{
			{Time: started, Reason: "drop_no_reservation", Side: "public", Interface: "eth0", Length: 60, Tuple: model.Tuple{
				Protocol: model.TCP, Source: endpoint("192.0.2.9:40000"), Destination: endpoint("198.18.0.34:22"),
			}},
			{Time: started.Add(1500 * time.Millisecond), Reason: "drop_malformed", Side: "private", Interface: "eth\x1b[2J1", Length: 14},
			{Time: started.Add(2 * time.Second), Reason: "drop_icmp_type", Side: "public", Interface: "eth0", Length: 1500, Tuple: model.Tuple{
				Protocol: model.ICMP, Source: endpoint("192.0.2.9:0"), Destination: endpoint("198.18.0.2:0"),
			}},
		},
	}
}
