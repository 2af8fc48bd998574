package access

import (
	"sync/atomic"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

// Service keeps the access that is in force. Call New.
type Service struct {
	socket string
	now    atomic.Pointer[api.Access]
}

// New makes one for a control socket, by which only root may ask yet. Without a path nobody can.
func New(socket string) *Service {
	s := &Service{socket: socket}
	s.now.Store(&api.Access{})
	return s
}

// Now is the access in force.
func (s *Service) Now() api.Access { return *s.now.Load() }

// Prepare reads the groups of the machine, where the configuration is read, too.
func (s *Service) Prepare(read bool) (lifecycle.Change, error) {
	if !read {
		return lifecycle.Change{}, nil
	}
	next, err := api.GroupAccess()
	if err != nil {
		return lifecycle.Change{}, err
	}
	before := s.Now()
	return lifecycle.Change{
		Commit:   func() error { return s.put(next) },
		Rollback: func() error { return s.put(before) },
	}, nil
}

func (s *Service) put(access api.Access) error {
	if s.socket != "" {
		if err := api.Open(s.socket, access); err != nil {
			return err
		}
	}
	s.now.Store(&access)
	return nil
}
