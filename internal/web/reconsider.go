package web

import (
	"container/list"
	"errors"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// Leads says whether a name still leads a flow where it did.
type Leads func(target Target, flow model.Tuple) bool

// Reconsider has connections begin anew whose names lead elsewhere since a reload. What was said of them would open sessions
// with their former hosts: to be called before such sessions are ended.
func (s *Service) Reconsider(leads Leads) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.table != nil {
		s.warn(errors.Join(s.table.reconsider(leads, datapath.Now()), s.quic.reconsider(leads)))
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
