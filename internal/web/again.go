package web

import "github.com/realmgate/realmgate/internal/model"

// Again sends the first data of a connection again whose host is to be called, as often as connect has: a function of its chain has
// held its SYNs, and now knows what becomes of them. Of one that is open, or has come to nothing, they are late, and go nowhere.
// False: there is no such connection.
func (s *Service) Again(flow model.Tuple) (bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.table == nil {
		return false, nil
	}
	c := s.table.all[flow]
	if c == nil || c.phase != phaseConnecting {
		return c != nil, nil
	}
	return true, s.table.kernel.Replay(c.ifindex, c.first.Frame, c.times)
}
