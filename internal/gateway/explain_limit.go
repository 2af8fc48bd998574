package gateway

import (
	"github.com/realmgate/realmgate/internal/api"
)

// hostLimits is subscriber_judge of bpf/include/subscriber.h, but for the rate, of which the next
// second knows nothing. A flow that is translated is taken to need a port of its own.
func (e *explainer) hostLimits(f flow) (api.Ending, error) {
	hosts, err := e.data.Subscribers()
	if err != nil {
		return goOn, err
	}
	has, limits := hosts[f.source], limits(e.view.config.Limits)
	ports, most := has.Ports(f.protocol), limits.HostPorts.Of(f.protocol)
	switch {
	case limits.HostSessions > 0 && has.Sessions >= limits.HostSessions:
		e.step("limit", "drop", "%s has %d sessions, the most that a host may (limits.host_sessions)", f.source, has.Sessions)
		return dropped("drop_host_sessions"), nil
	case most > 0 && ports >= most && e.maps(f):
		e.step("limit", "drop", "%s has %d ports of %s, the most that a host may (limits.host_ports); by one that it has it gets through",
			f.source, ports, f.protocol)
		return dropped("drop_host_ports"), nil
	}
	return goOn, nil
}

// remoteLimits is remote_judge of bpf/include/limit.h, but for the rate.
func (e *explainer) remoteLimits(f flow) (api.Ending, error) {
	most := e.view.config.Limits.RemoteSessions
	if f.hairpin || f.name != nil || most == 0 {
		return goOn, nil
	}
	remotes, err := e.data.Remotes()
	if n := remotes[f.source]; err == nil && n >= most {
		e.step("limit", "drop", "%s has %d sessions open, the most that a remote address may (limits.remote_sessions)", f.source, n)
		return dropped("drop_remote_sessions"), nil
	}
	return goOn, err
}
