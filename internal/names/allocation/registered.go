package allocation

import (
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

// service is what a name stands for, of the configuration or registered.
func (st *state) service(name model.Name) (pool.Service, bool) {
	if s, known := st.services[name]; known {
		return s, true
	}
	return st.config.Names.Registered(name)
}

// Registered has the pool look again at what comes and goes by itself: gone are services that are not there any more, or
// are others by now. It costs nothing for all that stay.
func (a *Allocator) Registered(gone []model.Name) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	withdrawn := a.pool.Registered(a.config.Names.CountRegistered(), gone)
	for i := range withdrawn {
		a.unbind(&withdrawn[i])
	}
	for _, name := range gone {
		if _, known := a.service(name); !known {
			delete(a.tally, name)
		}
	}
	if len(gone) > 0 {
		a.wake()
		a.kickTimers() // what rests now ends its rest some time
	}
}
