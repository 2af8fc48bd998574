package gateway

import (
	"github.com/realmgate/realmgate/internal/api"
)

// hostLimits is subscriber_judge of bpf/include/subscriber.h, but for the rate, of which the next
// second knows nothing. A flow that is translated is taken to need a port of its own, from 1,024 on.
func (e *explainer) hostLimits(f flow) (api.Ending, error) {
	hosts, err := e.data.Subscribers()
	if err != nil {
		return goOn, err
	}
	has, limits := hosts[f.source], limits(e.view.config.Limits)
	room, err := e.data.SessionRoom(true)
	if err != nil {
		return goOn, err
	}
	if most := limits.HostSessions; most > 0 && has.Sessions >= most {
		e.step("limit", "drop", "%s has %d sessions, the most that a host may (limits.host_sessions)", f.source, has.Sessions)
		return dropped("drop_host_sessions"), nil
	} else if !room.Allows(has.Sessions, most) {
		e.step("limit", "drop", "%s has %d sessions, and no more than its part of the %d that are left (limits.host_sessions)",
			f.source, has.Sessions, room.Left)
		return dropped("drop_host_sessions"), nil
	}
	if !e.maps(f) {
		return goOn, nil
	}
	return e.portLimits(f, has.Ports(f.protocol), limits.HostPorts.Of(f.protocol))
}

// portLimits is subscriber_may_map of the same.
func (e *explainer) portLimits(f flow, has, most int) (api.Ending, error) {
	if most > 0 && has >= most {
		e.step("limit", "drop", "%s has %d ports of %s, the most that a host may (limits.host_ports); by one that it has it gets through",
			f.source, has, f.protocol)
		return dropped("drop_host_ports"), nil
	}
	outbound, err := e.data.OutboundOf(f.source)
	if err != nil || !outbound.IsValid() {
		return goOn, err
	}
	room, err := e.data.PortRoom(outbound, f.protocol)
	if err != nil || room.Allows(has, most) {
		return goOn, err
	}
	e.step("limit", "drop", "%s has %d ports of %s, and no more than its part of the %d that %s has left (limits.host_ports); by one that it has it gets through",
		f.source, has, f.protocol, room.Left, outbound)
	return dropped("drop_host_ports"), nil
}

// remoteLimits is remote_judge of bpf/include/limit.h, but for the rate.
func (e *explainer) remoteLimits(f flow) (api.Ending, error) {
	most := e.view.config.Limits.RemoteSessions
	if f.hairpin || f.name != nil || most == 0 {
		return goOn, nil
	}
	remotes, err := e.data.Remotes()
	if err != nil {
		return goOn, err
	}
	room, err := e.data.SessionRoom(false)
	switch n := remotes[f.source]; {
	case err != nil:
		return goOn, err
	case n >= most:
		e.step("limit", "drop", "%s has %d sessions open, the most that a remote address may (limits.remote_sessions)", f.source, n)
	case !room.Allows(n, most):
		e.step("limit", "drop", "%s has %d sessions open, and no more than its part of the %d that are left (limits.remote_sessions)",
			f.source, n, room.Left)
	default:
		return goOn, nil
	}
	return dropped("drop_remote_sessions"), nil
}
