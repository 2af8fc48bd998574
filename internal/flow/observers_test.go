package flow

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

func token(i int) api.Caller { return api.Caller{Role: api.Read, Kind: "token", Name: fmt.Sprint(i)} }

// Of one caller, and of all, so many follow, and it leaves others room; who ends makes room, and who wants what is open alone
// needs none.
func TestObserversAreBounded(t *testing.T) {
	t.Parallel()
	f, s := newFake()
	f.watched, f.ended = make(chan *datapath.Watch, mostObservers), make(chan bool, mostObservers+1)
	observe := func(by api.Caller, visit func([]api.Flow) bool) error {
		return s.Observe(t.Context(), api.ObserveRequest{Follow: true, By: by}, visit)
	}
	refused := func(by api.Caller) {
		t.Helper()
		if err := observe(by, func([]api.Flow) bool { return false }); err == nil || api.StatusOf(err) != http.StatusServiceUnavailable {
			t.Errorf("one more of %s: %v", by, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, mostObservers)
	for i := range mostObservers {
		by := token(0)
		if i >= mostObservers/2 {
			by = token(i)
		}
		go func() {
			over <- s.Observe(ctx, api.ObserveRequest{Follow: true, By: by}, func([]api.Flow) bool { return true })
		}()
		<-f.watched
		if i == mostObservers/2-1 {
			refused(by)
		}
	}
	refused(token(-1))
	if err := s.Observe(t.Context(), api.ObserveRequest{Last: 1, By: token(0)}, func([]api.Flow) bool { return true }); err != nil {
		t.Errorf("what is open: %v", err)
	}
	cancel()
	for range mostObservers {
		if err := <-over; err != nil {
			t.Error(err)
		}
	}
	if err := observe(token(0), func([]api.Flow) bool { return false }); err != nil || fmt.Sprint(s.observers.places) != "{64 8 0 map[]}" {
		t.Errorf("when all have ended: %v, %+v", err, s.observers.places)
	}
}

// What happens is described once for all who hear of it.
func TestFlowIsMadeOnce(t *testing.T) {
	t.Parallel()
	_, s := newFake()
	looked := 0
	names := s.Names
	s.Names = func() Names { looked++; return names() }
	event := datapath.FlowEvent{At: datapath.Now(), Protocol: model.TCP, Private: inside, External: out, Remote: remote, Origin: "inside"}
	var all []*observer
	once := 0
	for i := range 8 {
		o := newObserver(s, api.ObserveRequest{})
		all = append(all, o)
		if o.watch().Session(event); i == 0 {
			once = looked
		}
	}
	first := all[0].flows[0]
	for _, o := range all[1:] {
		if f := o.flows[0]; f != first {
			t.Errorf("one hears %+v, another %+v", first, f)
		}
	}
	if looked != once {
		t.Errorf("it was described anew: names were looked at %d times, %d for one", looked, once)
	}
}
