package web

import "github.com/realmgate/realmgate/internal/model"

// Again sends the first data of a connection again whose host is to be called: a function of its chain has held its SYN, and now
// knows what becomes of it. False: there is no such connection.
func (s *Service) Again(flow model.Tuple) (bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.table == nil {
		return false, nil
	}
	c := s.table.all[flow]
	if c == nil || c.phase != phaseConnecting {
		return false, nil
	}
	return true, s.table.kernel.Replay(c.ifindex, c.first.Frame, 1)
}
