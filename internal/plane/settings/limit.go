package settings

import (
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

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

func (l *Limits) key() schema.Key {
	sessions, ports := schema.Number(0, maxSessions), schema.Number(0, maxPorts)
	return schema.Section("limits",
		schema.One("host_sessions", &l.HostSessions, sessions).Otherwise("a sixteenth of `capacity`, at least 256"),
		schema.Section("host_ports",
			schema.One("udp", &l.HostPorts.UDP, ports),
			schema.One("tcp", &l.HostPorts.TCP, ports),
			schema.One("icmp", &l.HostPorts.ICMP, ports),
		),
		schema.One("host_rate", &l.HostRate, schema.Number(0, maxRate)),
		schema.One("remote_sessions", &l.RemoteSessions, sessions).Otherwise("a 32nd of `capacity`, at least 128"),
		schema.One("remote_rate", &l.RemoteRate, schema.Number(0, maxRate)),
		schema.One("binding_sessions", &l.BindingSessions, sessions).Otherwise("an eighth of `capacity`, at least 512"),
		schema.One("mapping_sessions", &l.MappingSessions, schema.Number(1, maxMapping)),
	)
}

// of replaces what is a share of the capacity.
func (l *Limits) of(capacity int) {
	share := func(limit *int, part, least int) {
		if *limit == byCapacity {
			*limit = max(capacity/part, least)
		}
	}
	share(&l.HostSessions, 16, 256)
	share(&l.RemoteSessions, 32, 128)
	share(&l.BindingSessions, 8, 512)
}
