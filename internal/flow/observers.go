package flow

import (
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// observers counts those who follow: each takes room for what it is behind.
type observers struct {
	mutex  sync.Mutex // guards what follows
	places api.Places
}

func (o *observers) enter(caller api.Caller) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.places.Enter(caller)
}

func (o *observers) leave(caller api.Caller) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.places.Leave(caller)
}

// last is what was made of the last event: the next who hears of the same takes it. No key is zero.
type last[K comparable] struct {
	mutex sync.Mutex // guards what follows
	key   K
	flow  api.Flow
}

func (l *last[K]) of(key K, describe func() api.Flow) api.Flow {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if key != l.key {
		l.key, l.flow = key, describe()
	}
	return l.flow
}

// dropKey tells a drop from others.
type dropKey struct {
	at     model.Instant
	cpu    int
	reason model.Reason
	tuple  model.Tuple
}
