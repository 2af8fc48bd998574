package config

import "github.com/realmgate/realmgate/internal/model"

// Limits say how many sessions and ports one may take; 0 is no limit.
type Limits struct {
	HostSessions int            // opened by one host inside, at most 64000000
	HostPorts    ProtocolLimits // its mappings, each at most 65535
	HostRate     int            // sessions that it opens in a second, at most 4000
	// RemoteSessions are those open from one remote address, BindingSessions those of one service at
	// its address, at most 64000000; RemoteRate is as HostRate.
	RemoteSessions, RemoteRate, BindingSessions int
	MappingSessions                             int // from outside through one mapping, 1 to 4000
}

// ProtocolLimits are limits for each protocol.
type ProtocolLimits struct{ UDP, TCP, ICMP int }

// byCapacity is a limit that the file does not give, and that is a share of the capacity.
const byCapacity = -1

const (
	maxSessions = model.MaxCapacity
	maxPorts    = 65_535
	maxRate     = 4_000
	maxMapping  = 4_000
)

// defaultLimits leave an ordinary host alone, and keep one that runs amok to a sixteenth of
// the sessions and a quarter of its address's ports.
var defaultLimits = Limits{
	HostSessions: byCapacity, HostPorts: ProtocolLimits{16384, 16384, 16384}, HostRate: 2000,
	RemoteSessions: byCapacity, RemoteRate: 500, BindingSessions: byCapacity, MappingSessions: 1024,
}

func limitKeys(l *Limits) key {
	sessions, ports := number(0, maxSessions), number(0, maxPorts)
	return section("limits",
		one("host_sessions", &l.HostSessions, sessions).otherwise("a sixteenth of `capacity`, at least 256"),
		section("host_ports",
			one("udp", &l.HostPorts.UDP, ports),
			one("tcp", &l.HostPorts.TCP, ports),
			one("icmp", &l.HostPorts.ICMP, ports),
		),
		one("host_rate", &l.HostRate, number(0, maxRate)),
		one("remote_sessions", &l.RemoteSessions, sessions).otherwise("a 32nd of `capacity`, at least 128"),
		one("remote_rate", &l.RemoteRate, number(0, maxRate)),
		one("binding_sessions", &l.BindingSessions, sessions).otherwise("an eighth of `capacity`, at least 512"),
		one("mapping_sessions", &l.MappingSessions, number(1, maxMapping)),
	)
}

// of replaces what is a share of the capacity.
func (l Limits) of(capacity int) Limits {
	share := func(limit *int, part, least int) {
		if *limit == byCapacity {
			*limit = max(capacity/part, least)
		}
	}
	share(&l.HostSessions, 16, 256)
	share(&l.RemoteSessions, 32, 128)
	share(&l.BindingSessions, 8, 512)
	return l
}
