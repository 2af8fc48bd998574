package gateway

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// basicSession finds the session of a protocol that is translated by address alone, between an
// outbound address and a remote one (static_find of bpf/include/public_side.h).
func (e *explainer) basicSession(p model.Protocol, external, remote netip.Addr) (found datapath.Session, is bool, err error) {
	err = e.data.Sessions(func(s datapath.Session) {
		if s.Protocol == p && s.External.Addr() == external && s.Remote.Addr() == remote {
			found, is = s, true
		}
	})
	return found, is, err
}

// basicIn says whom such a flow from outside to an outbound address is for.
func (e *explainer) basicIn(f flow) (private netip.AddrPort, end api.Ending, err error) {
	s, is, err := e.basicSession(f.protocol, f.destination, f.source)
	switch {
	case err != nil:
		return private, goOn, err
	case is:
		return s.Private, goOn, nil
	case !f.hairpin && e.isOwn(f.destination):
		end, err = e.toGateway(f)
		return private, end, err
	}
	if end, err = e.unmapped(f); ends(end) || err != nil {
		return private, end, err
	}
	e.step("session", "drop", "no private host has sent %s to %s", f.protocol, f.source)
	return private, dropped("drop_no_session"), nil
}

// rival says whether another host has the remote address already (flow_is_taken of
// bpf/include/flow.h).
func (e *explainer) rival(f flow, external netip.Addr) (api.Ending, error) {
	if !f.protocol.ByAddress() {
		return goOn, nil
	}
	s, is, err := e.basicSession(f.protocol, external, f.destination)
	if err != nil || !is || s.Private.Addr() == f.source {
		return goOn, err
	}
	e.step("nat", "drop", "%s has %s of %s as %s, and %s has no ports", s.Private.Addr(), f.protocol, f.destination, external, f.protocol)
	return dropped("drop_session_conflict"), nil
}
