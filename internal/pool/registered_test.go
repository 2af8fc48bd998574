package pool

import (
	"errors"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// Services that come and go one by one are bound as others are, stay through SetServices, and rest when they go.
func TestRegisteredServices(t *testing.T) {
	here := map[model.Name]Service{}
	o := single()
	o.Registered = func(name model.Name) (Service, bool) {
		s, known := here[name]
		return s, known
	}
	p := newPool(t, o, service("a.", "a.", "tcp/22"))
	if _, _, _, err := p.Bind(1, "guest."); !errors.Is(err, ErrRequest) {
		t.Fatalf("who is not there is bound: %v", err)
	}
	here["guest."] = service("guest.", "guest.", "tcp/80")
	p.Registered(1, nil)
	if s := p.Statistics(); s.Services != 2 {
		t.Errorf("%+v", s)
	}
	b := visit(t, p, second, "guest.")
	if withdrawn, _ := p.SetServices(2*second, []Service{service("c.", "c.", "tcp/80")}); len(withdrawn) != 0 {
		t.Errorf("it lost its place to a reload: %+v", withdrawn)
	}
	if withdrawn := p.Registered(1, []model.Name{"guest."}); len(withdrawn) > 0 {
		t.Error("who is there lost its place")
	}
	mustExhaust(t, p, 3*second, "c.")
	delete(here, "guest.")
	withdrawn := p.Registered(0, []model.Name{"guest.", "nobody."})
	if len(withdrawn) != 1 || withdrawn[0].ID != b.ID || withdrawn[0].State != Resting {
		t.Fatalf("%+v", withdrawn)
	}
	mustExhaust(t, p, 4*second, "c.") // I9: its place rests
	if c, _ := mustBind(t, p, withdrawn[0].Used.Add(o.Rest), "c."); c.Address != b.Address {
		t.Errorf("%+v", c)
	}
	if s := p.Statistics(); s.Services != 1 {
		t.Errorf("%+v", s)
	}
}

// Who comes back as another host does not go on with the binding of the first.
func TestRegisteredServiceComesBackAsAnother(t *testing.T) {
	now := service("guest.", "guest.", "tcp/80")
	o := single()
	o.Registered = func(model.Name) (Service, bool) { return now, true }
	p := newPool(t, o)
	visit(t, p, second, "guest.")
	now.Host = now.Host.Next()
	if withdrawn := p.Registered(1, []model.Name{"guest."}); len(withdrawn) != 1 || withdrawn[0].State != Resting {
		t.Errorf("%+v", withdrawn)
	}
}
