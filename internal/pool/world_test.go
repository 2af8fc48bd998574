package pool

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const second = model.Instant(time.Second)

// More random lives than rapid's default, unless the command line says.
func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "1000")
	_ = flag.Set("rapid.steps", "80")
	flag.Parse()
	os.Exit(m.Run())
}

var testAddresses = []netip.Addr{
	netip.MustParseAddr("198.18.0.32"), netip.MustParseAddr("198.18.0.33"),
	netip.MustParseAddr("198.18.0.34"), netip.MustParseAddr("198.18.0.35"),
}

func defaults() Options {
	return Options{Addresses: testAddresses, ReservationTimeout: 2 * time.Second, Rest: 130 * time.Second, Capacity: 1 << 17, Bindings: 1 << 12}
}

func single() Options {
	o := defaults()
	o.Addresses = testAddresses[:1]
	return o
}

// blockWeb is I3: tcp/80 is the gateway's own.
func blockWeb(_ netip.Addr, p model.Protocol, port uint16) bool {
	return p == model.AnyProtocol || p == model.TCP && port == 80
}

func client(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(n >> 8), byte(n)}) }

// ports reads "tcp/80:8080 icmp".
func ports(text ...string) (list []model.Port) {
	for _, t := range text {
		p, err := model.ParsePorts(t)
		if err != nil {
			panic(err)
		}
		list = append(list, p...)
	}
	return list
}

func zones(names ...model.Name) []model.Name { return names }

// service of an owner; every owner has an address of its own.
func service(name, owner string, open ...string) Service {
	host := netip.AddrFrom4([4]byte{10, 0, owner[0], byte(len(owner))})
	return Service{Name: model.Name(name), Owner: model.Name(owner), Zones: zones("foo.example."), Host: host, Ports: ports(open...)}
}

// data stands for the data plane: what it knows of bindings, and which slots its sessions keep.
type data struct {
	used     map[uint64]model.Instant
	sessions map[uint64]int
}

func newData() *data { return &data{map[uint64]model.Instant{}, map[uint64]int{}} }

func (d *data) attach(o *Options) {
	o.Use = func(id uint64) (model.Instant, int) { return d.used[id], d.sessions[id] }
	o.Vacant = func(slot uint32) bool {
		for id, n := range d.sessions {
			if uint32(id) == slot && n > 0 {
				return false
			}
		}
		return true
	}
}

func (d *data) session(at model.Instant, id uint64, by int) {
	d.used[id] = at
	d.sessions[id] += by
}

func newPool(t *testing.T, o Options, services ...Service) *Pool {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.SetServices(1, services)
	return p
}

// expire does what the daemon does before it binds.
func expire(p *Pool, now model.Instant) {
	for _, id := range p.Reservations.Due(now) {
		p.Reservations.Expired(now, id)
	}
}

func mustBind(t *testing.T, p *Pool, now model.Instant, name string) (Binding, []Binding) {
	t.Helper()
	expire(p, now)
	b, moved, fresh, err := p.Bind(now, model.Name(name))
	if err != nil || !fresh {
		t.Fatalf("bind %s: fresh %v, %v", name, fresh, err)
	}
	return b, moved
}

func mustExhaust(t *testing.T, p *Pool, now model.Instant, name string) {
	t.Helper()
	expire(p, now)
	if b, _, fresh, err := p.Bind(now, model.Name(name)); !errors.Is(err, ErrExhausted) {
		t.Fatalf("bind %s: got %+v, fresh %v, %v; want exhausted", name, b, fresh, err)
	}
}

// ask is a question for the service by its own name.
func ask(name string, who int, query uint64) Request {
	return Request{Service: model.Name(name), Name: model.Name(name), Requester: client(who), Query: query, Verified: true}
}

func mustReserve(t *testing.T, p *Pool, now model.Instant, q Request) Reservation {
	t.Helper()
	r, fresh, err := p.Reservations.Reserve(now, q)
	if err != nil || !fresh {
		t.Fatalf("reserve for %s: fresh %v, %v", q.Name, fresh, err)
	}
	return r
}

// visit binds and answers, as the daemon does.
func visit(t *testing.T, p *Pool, now model.Instant, name string) Binding {
	t.Helper()
	b, _, _, err := p.Bind(now, model.Name(name))
	if err != nil {
		t.Fatal(err)
	}
	mustReserve(t, p, now, ask(name, int(now%251), uint64(now)))
	b, _ = p.Binding(b.ID)
	return b
}

func repeatable(p *Pool, seed uint64) {
	p.number, p.Reservations.generation = 0xffffffff, 0xffffffff // wrap at once
	source := rand.New(rand.NewPCG(seed, 0))
	p.dice.fill = func(b []byte) {
		for i := range b {
			b[i] = byte(source.Uint32())
		}
	}
}

func addressesOf(list []Binding) (text string) {
	for _, b := range list {
		text += fmt.Sprintf("%s on %s; ", b.Service.Name, b.Address)
	}
	return text
}
