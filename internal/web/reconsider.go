package web

import (
	"container/list"
	"errors"
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// Leads says whether a name still leads a flow where it did.
type Leads func(target Target, flow model.Tuple) bool

// Realm says whether a name, by its number, leads from a port of a web address to a private endpoint.
type Realm interface {
	Leads(number uint32, protocol model.Protocol, port uint16, to netip.AddrPort) bool
}

// Reconsider has connections begin anew whose names lead elsewhere since a reload, or since their hosts have gone. What was said
// of them would open sessions with their former hosts: to be called before such sessions are ended.
func (s *Service) Reconsider(r Realm) {
	leads := func(t Target, flow model.Tuple) bool {
		return r.Leads(t.Number, flow.Protocol, flow.Destination.Port(), t.To)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.table != nil {
		s.warn(errors.Join(s.table.reconsider(leads, datapath.Now()), s.quic.reconsider(leads)))
	}
}

// End is Reconsider, and ends sessions whose names lead elsewhere: those of an earlier daemon, too.
func (s *Service) End(r Realm) {
	s.Reconsider(r)
	ended, err := s.Plane().EndSessions(func(of datapath.Session) bool {
		return of.Origin == "web" && !r.Leads(of.Name, of.Protocol, of.External.Port(), of.Private)
	})
	if err != nil {
		s.Log.Error("sessions of names that lead elsewhere not ended", "hint", "end them by realmgate sessions", "error", err)
	}
	if ended > 0 {
		s.Log.Info("sessions of names that lead elsewhere ended", "sessions", ended)
	}
}

func (t *table) reconsider(leads Leads, now model.Instant) (err error) {
	for _, of := range []*list.List{&t.reading, &t.connecting, &t.ordering, &t.resting} {
		for at := of.Front(); at != nil; {
			c := at.Value.(*connection)
			at = at.Next()
			if c.phase == phaseOver || !c.target.To.IsValid() || leads(c.target, c.flow) {
				continue
			}
			if c.phase != phaseOpen { // one that is read was postponed
				t.leave(c)
			}
			err = errors.Join(err, t.anew(c, now))
		}
	}
	return err
}

func (t *attempts) reconsider(leads Leads) (err error) {
	for _, a := range t.all {
		switch {
		case a.phase == phaseOpen && a.target.To.IsValid() && !leads(a.target, a.flow):
			err = errors.Join(err, t.leave(a))
		case a.phase != phaseOpen && a.turn > 0: // the data plane has the answer of the one before it, of which we know no more
			err = errors.Join(err, t.kernel.ForgetWeb(a.flow))
		}
	}
	return err
}
