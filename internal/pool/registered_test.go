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
	if withdrawn := p.Registered(1, []model.Name{"a.", "c."}); len(withdrawn) > 0 {
		t.Errorf("who is there lost its place: %+v", withdrawn)
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
	for about, another := range map[string]func(*Service){
		"at another address": func(s *Service) { s.Host = s.Host.Next() }, "with other ports": func(s *Service) { s.Ports = ports("tcp/81") },
		"of the same name, at the same address": func(*Service) {},
	} {
		now := service("guest.", "guest.", "tcp/80")
		o := single()
		o.Registered = func(model.Name) (Service, bool) { return now, true }
		p := newPool(t, o)
		visit(t, p, second, "guest.")
		another(&now)
		if withdrawn := p.Registered(1, []model.Name{"guest."}); len(withdrawn) != 1 || withdrawn[0].State != Resting {
			t.Errorf("%s: %+v", about, withdrawn)
		}
	}
}

// Who goes while all services are told anew is withdrawn then or right after, by Registered.
func TestRegisteredServiceGoesMeanwhile(t *testing.T) {
	for after := range 8 {
		o, asked, limit := single(), 0, 1<<20
		o.Registered = func(name model.Name) (Service, bool) {
			asked++
			return service("guest.", "guest.", "tcp/80"), name == "guest." && asked <= limit
		}
		p := newPool(t, o)
		b := visit(t, p, second, "guest.")
		asked, limit = 0, after
		withdrawn, _ := p.SetServices(2*second, nil)
		limit = 0
		withdrawn = append(withdrawn, p.Registered(0, []model.Name{"guest."})...)
		if len(withdrawn) != 1 || withdrawn[0].ID != b.ID || withdrawn[0].State != Resting {
			t.Errorf("gone after it was asked for %d times: %+v", after, withdrawn)
		}
	}
}
