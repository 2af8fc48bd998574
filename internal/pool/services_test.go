package pool

import (
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

func TestChangedServices(t *testing.T) {
	before := service("a.", "a.", "tcp/80", "tcp/443")
	change := func(f func(*Service)) *Service {
		s := before
		f(&s)
		return &s
	}
	for name, c := range map[string]struct {
		after   *Service
		kept    bool
		changed int
	}{
		"nothing":     {change(func(*Service) {}), true, 0},
		"order":       {change(func(s *Service) { s.Ports = ports("tcp/443", "tcp/80") }), true, 0},
		"grown":       {change(func(s *Service) { s.Ports = ports("tcp/80", "tcp/443", "tcp/22") }), true, 1},
		"shrunk":      {change(func(s *Service) { s.Ports = ports("tcp/80") }), true, 1},
		"both":        {change(func(s *Service) { s.Ports = ports("tcp/80", "tcp/22") }), true, 2},
		"other to":    {change(func(s *Service) { s.Ports = ports("tcp/80:8080", "tcp/443") }), true, 1},
		"others":      {change(func(s *Service) { s.Ports = ports("tcp/22") }), false, 0},
		"all":         {change(func(s *Service) { s.Ports = ports("all") }), false, 0},
		"taken":       {change(func(s *Service) { s.Ports = ports("tcp/80", "tcp/443", "tcp/25") }), false, 0},
		"host":        {change(func(s *Service) { s.Host = s.Host.Next() }), false, 0},
		"owner":       {change(func(s *Service) { s.Owner = "z." }), false, 0},
		"zone":        {change(func(s *Service) { s.Zones = zones("bar.example.") }), true, 0},
		"invalid":     {change(func(s *Service) { s.Ports = ports("tcp/80", "all") }), false, 0},
		"twice there": {change(func(s *Service) { s.Ports = ports("tcp/80", "tcp/80:81") }), false, 0},
		"gone":        {nil, false, 0},
	} {
		mail := service("mail.", "m.", "tcp/25")
		p := newPool(t, single(), before, mail)
		a := visit(t, p, second, "a.")
		visit(t, p, second, "mail.")
		services := []Service{mail}
		if c.after != nil {
			services = append(services, *c.after)
		}
		withdrawn, changed := p.SetServices(2*second, services)
		b, _ := p.Binding(a.ID)
		if kept := b.State == Bound; kept != c.kept || kept != (len(withdrawn) == 0) || len(changed) != c.changed {
			t.Errorf("%s: %s; withdrawn %s, changed %s", name, b.State, addressesOf(withdrawn), addressesOf(changed))
		}
		if c.kept && !slices.Equal(b.Service.Ports, c.after.normal().Ports) {
			t.Errorf("%s: bound with %v", name, b.Service.Ports)
		}
	}
}

// A port that a service no longer opens is nobody else's until it has rested; its binding goes on.
func TestWhatABindingNoLongerOpensRests(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/80", "tcp/25"))
	a := visit(t, p, second, "a.")
	mail := service("mail.", "m.", "tcp/25")
	_, changed := p.SetServices(100*second, []Service{service("a.", "a.", "tcp/80"), mail})
	if len(changed) != 1 || changed[0].ID != a.ID || !slices.Equal(changed[0].Service.Ports, ports("tcp/80")) {
		t.Fatalf("%+v", changed)
	}
	if s := p.Statistics(); s.Rests != 1 {
		t.Fatalf("%+v", s)
	}
	mustExhaust(t, p, 230*second-1, "mail.") // its sessions ended when it closed
	mustBind(t, p, 230*second, "mail.")
	if b, _ := p.Binding(a.ID); b.State != Bound {
		t.Fatal("what stayed open has gone")
	}
}

// What one service loses, another of the owner gains: the data plane gets both in an order that never has a port twice.
func TestServicesSwapPorts(t *testing.T) {
	p := newPool(t, single(), service("a.", "a.", "tcp/1", "tcp/2"), service("b.", "a.", "tcp/3", "tcp/4"))
	visit(t, p, second, "a.")
	visit(t, p, second, "b.")
	withdrawn, changed := p.SetServices(2*second, []Service{service("a.", "a.", "tcp/1", "tcp/3"), service("b.", "a.", "tcp/2", "tcp/4")})
	if len(withdrawn) != 0 || len(changed) != 4 {
		t.Fatalf("withdrawn %s, changed %s", addressesOf(withdrawn), addressesOf(changed))
	}
	has := map[model.Port]model.Name{{Protocol: model.TCP, Port: 3, To: 3}: "b.", {Protocol: model.TCP, Port: 2, To: 2}: "a."}
	for _, b := range changed {
		for port, who := range has {
			if who == b.Service.Name && !slices.Contains(b.Service.Ports, port) {
				delete(has, port)
			}
		}
		for _, port := range b.Service.Ports {
			if who, taken := has[port]; taken && who != b.Service.Name {
				t.Fatalf("%s of %s has %s already", port, who, b.Service.Name)
			}
			has[port] = b.Service.Name
		}
	}
}

// A host that gets another private address keeps its place, by another binding.
func TestOwnerTakesItsRestingPlace(t *testing.T) {
	o := defaults()
	p := newPool(t, o, service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/22"))
	a := visit(t, p, second, "a.")
	moved := a.Service
	moved.Host = moved.Host.Next()
	withdrawn, _ := p.SetServices(2*second, []Service{moved, service("b.", "b.", "tcp/22")})
	if len(withdrawn) != 1 || withdrawn[0].State != Resting {
		t.Fatalf("%+v", withdrawn)
	}
	placed := p.Place(2 * second)
	if len(placed) != 2 || placed[0].Address != a.Address || placed[0].ID == a.ID || placed[0].Service.Host != moved.Host {
		t.Fatalf("%+v", placed)
	}
}

func TestPlaceTakesNothingFromAnybody(t *testing.T) {
	services := []Service{service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"), service("c.", "c.", "tcp/22")}
	p := newPool(t, single(), services...)
	visit(t, p, second, "a.")
	placed := p.Place(1000 * second)
	if len(placed) != 1 || placed[0].Service.Name != "c." {
		t.Fatalf("%s", addressesOf(placed))
	}
	// Nobody was told of what is only placed, so it need not rest: a pool without state is free at once.
	p = newPool(t, single(), services...)
	p.Place(second)
	mustBind(t, p, second, "b.")
}

func TestReconfigure(t *testing.T) {
	o := defaults()
	o.Addresses = testAddresses[:1]
	p := newPool(t, o, service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"))
	a := visit(t, p, second, "a.")
	o.Addresses = testAddresses[1:2]
	withdrawn, err := p.Reconfigure(2*second, o)
	if err != nil || len(withdrawn) != 1 || withdrawn[0].ID != a.ID || withdrawn[0].State != Resting {
		t.Fatalf("%+v %v", withdrawn, err)
	}
	if b, _ := mustBind(t, p, 2*second, "a."); b.Address != testAddresses[1] {
		t.Fatalf("%+v", b)
	}
	mustReserve(t, p, 2*second, ask("a.", 1, 1))
	// The address comes back before it has rested.
	o.Addresses = testAddresses[:1]
	if _, err := p.Reconfigure(3*second, o); err != nil {
		t.Fatal(err)
	}
	mustExhaust(t, p, 131*second-1, "b.")
	mustBind(t, p, 131*second, "b.")
	// Another part of the gateway gets the port.
	visit(t, p, 131*second, "b.")
	o.Blocked = blockWeb
	if withdrawn, _ := p.Reconfigure(132*second, o); len(withdrawn) != 1 {
		t.Fatalf("I3: %s", addressesOf(withdrawn))
	}
	mustExhaust(t, p, 1000*second, "b.")
}

// A shorter rest is the operator's choice, and holds at once; a longer one for what has not rested yet.
func TestReconfigureRest(t *testing.T) {
	o := single()
	p := newPool(t, o, service("a.", "a.", "tcp/80"), service("b.", "b.", "tcp/80"))
	visit(t, p, second, "a.")
	o.Rest = time.Second
	if _, err := p.Reconfigure(second, o); err != nil {
		t.Fatal(err)
	}
	mustExhaust(t, p, 2*second-1, "b.")
	mustExhaust(t, p, 3*second-1, "b.") // its answer still stands
	mustBind(t, p, 3*second, "b.")
}
