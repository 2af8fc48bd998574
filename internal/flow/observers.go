package flow

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// observers counts those who follow: each takes room for what it is behind.
type observers struct {
	mutex sync.Mutex // guards what follows
	all   int
	of    map[string]int // of each caller
}

func (o *observers) enter(caller string) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	switch {
	case o.of[caller] >= mostOfOne:
		return full(fmt.Errorf("%s observes %d times already", caller, mostOfOne))
	case o.all >= mostObservers:
		return full(fmt.Errorf("%d observe already", mostObservers))
	}
	if o.of == nil {
		o.of = map[string]int{}
	}
	o.all++
	o.of[caller]++
	return nil
}

func full(why error) error {
	return api.Fail(http.StatusServiceUnavailable, api.WithRemedy(why, "end one of them"))
}

func (o *observers) leave(caller string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.all--
	if o.of[caller]--; o.of[caller] == 0 {
		delete(o.of, caller)
	}
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
