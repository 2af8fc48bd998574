package pact

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/model"
	"pgregory.net/rapid"
)

// machine drives a Store through one random life, with all that a service and a kernel know besides.
type machine struct {
	store   *Store
	options Options
	now     model.Instant
	use     map[netip.Addr]lastUse   // of each address: for whom, when
	tags    map[uint32]model.Instant // when each tag was last in use
	told    map[uint16]model.Instant // when Due named a pact
	names   map[uint16]Pact          // of the pacts that were adopted without
	random  uint64
}

type lastUse struct {
	key   Key
	other uint64
	at    model.Instant
	rests model.Instant // as was promised
}

var (
	ranges  = []netip.Prefix{netip.MustParsePrefix("172.31.0.0/28"), netip.MustParsePrefix("172.31.0.240/28"), netip.MustParsePrefix("172.31.0.0/27")}
	remotes = []model.Name{"w.b.example.", "x.b.example.", "y.c.example.", "z.c.example."}
	peerOf  = map[model.Name]string{remotes[0]: "edge.b.", remotes[1]: "edge.b.", remotes[2]: "edge.c.", remotes[3]: "edge.c."}
)

// TestPactProperties holds what the package promises over random interleavings of all that happens to pacts: no key, number,
// tag or address twice, bounds, timers, and I9 over restarts and changes of the range.
func TestPactProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{now: second, use: map[netip.Addr]lastUse{}, tags: map[uint32]model.Instant{}, told: map[uint16]model.Instant{}, names: map[uint16]Pact{}}
		m.options = Options{
			Proxy: ranges[0], Most: rapid.IntRange(2, 20).Draw(t, "most"), Rest: time.Duration(rapid.IntRange(1, 60).Draw(t, "rest")) * time.Second,
			Idle: 30 * time.Second, PerHost: rapid.IntRange(1, 10).Draw(t, "per host"), PerEdge: rapid.IntRange(1, 14).Draw(t, "per edge"),
			Random: func() uint64 { m.random += 0x9e3779b97f4a7c15; return m.random },
		}
		m.store = New(m.options)
		t.Repeat(map[string]func(*rapid.T){
			"open": m.open, "settle": m.settle, "accept": m.accept, "cancel": m.cancel, "end": m.end, "use": m.used, "renew": m.renew,
			"wait": m.wait, "due": m.due, "reconfigure": m.reconfigure, "restart": m.restart, "name": m.name, "": m.check,
		})
	})
}

func (m *machine) key(t *rapid.T) Key {
	return key(byte(rapid.IntRange(1, 3).Draw(t, "host")), rapid.SampledFrom(remotes).Draw(t, "remote"))
}

// some draws a pact in a state, false where there is none.
func (m *machine) some(t *rapid.T, state State) (Pact, bool) {
	var all []Pact
	for p := range m.store.All() {
		if p.State == state {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return Pact{}, false
	}
	slices.SortFunc(all, func(a, b Pact) int { return a.Proxy.Compare(b.Proxy) })
	return rapid.SampledFrom(all).Draw(t, state.String()), true
}

func (m *machine) agreed(t *rapid.T) Agreed {
	out := rapid.Bool().Draw(t, "out")
	return Agreed{
		Other: uint64(rapid.IntRange(1, 2).Draw(t, "other")), Terms: policy.Widest, Out: out, In: !out,
		Until: m.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "hold")) * time.Second),
	}
}

func (m *machine) open(t *rapid.T) {
	k := m.key(t)
	before := m.count(peerOf[k.Remote])
	rested := slices.ContainsFunc(slices.Collect(m.store.All()), func(p Pact) bool { return p.State == Resting && p.Key == k })
	_, stands := m.store.ByKey(k)
	p, fresh, err := m.store.Open(m.now, k, peerOf[k.Remote])
	m.refused(t, err)
	switch {
	case err != nil:
	case fresh == stands || p.Key != k:
		t.Fatalf("%v stands: %v, fresh: %v", k, stands, fresh)
	case fresh && !rested && m.count(peerOf[k.Remote]) > m.options.PerEdge:
		t.Fatalf("%s had %d of %d, and one more was made", peerOf[k.Remote], before, m.options.PerEdge)
	}
}

// refused sees to it that nothing is said to be exhausted that is not.
func (m *machine) refused(t *rapid.T, err error) {
	if !errors.Is(err, ErrExhausted) {
		return
	}
	numbers, taken := 0, map[netip.Addr]bool{}
	for p := range m.store.All() {
		if p.State != Resting {
			numbers++
		}
		taken[p.Proxy] = true
	}
	for _, a := range usableOf(m.options.Proxy) {
		if !taken[a] && numbers < m.options.Most {
			t.Fatalf("exhausted, though %v is free, and %d of %d numbers are taken", a, numbers, m.options.Most)
		}
	}
}

// count is how many addresses are a peer's.
func (m *machine) count(peer string) int {
	addresses := map[netip.Addr]bool{}
	for p := range m.store.All() {
		if p.Peers == peer {
			addresses[p.Proxy] = true
		}
	}
	return len(addresses)
}

// tell notes that a pact is in use, and holds I9: its address was for nobody else within the rest, nor its tag.
func (m *machine) tell(t *rapid.T, p Pact) {
	if last, was := m.use[p.Proxy]; was && (last.key != p.Key || last.other != p.Other) && m.now.Before(last.rests) {
		t.Fatalf("%v is for %v and machine %d at %d s; it was for %v and %d at %d s, rest %v", p.Proxy, p.Key, p.Other, m.now/second, last.key, last.other, last.at/second, m.options.Rest)
	}
	m.use[p.Proxy] = lastUse{p.Key, p.Other, m.now, m.now.Add(m.options.Rest)}
}

func (m *machine) settle(t *rapid.T) {
	p, found := m.some(t, Opening)
	if !found {
		return
	}
	m.settled(t, p.Number, m.agreed(t))
}

func (m *machine) settled(t *rapid.T, number uint16, a Agreed) {
	p, err := m.store.Settle(m.now, number, 99, a)
	m.refused(t, err)
	if err != nil {
		if now, _ := m.store.ByKey(m.keyOf(number)); now.State != Opening {
			t.Fatalf("not settled: %v, and %v", err, now.State)
		}
		return
	}
	if at, was := m.tags[p.Own]; was && m.now.Before(at.Add(m.options.Rest)) {
		t.Fatalf("tag %#x again after %v", p.Own, m.now.Sub(at))
	}
	m.tell(t, p)
}

func (m *machine) keyOf(number uint16) (k Key) {
	for p := range m.store.All() {
		if p.State != Resting && p.Number == number {
			k = p.Key
		}
	}
	return k
}

func (m *machine) accept(t *rapid.T) {
	k, a, tag := m.key(t), m.agreed(t), uint32(rapid.IntRange(98, 99).Draw(t, "tag"))
	before, stood := m.store.ByKey(k)
	pacts := slices.Collect(m.store.All())
	p, err := m.store.Accept(m.now, k, peerOf[k.Remote], tag, a)
	m.refused(t, err)
	switch {
	case err != nil && m.now < m.latest(pacts) && len(slices.Collect(m.store.All())) != len(pacts):
		t.Fatalf("%v, and something has changed", err)
	case err != nil:
	case stood && before.State == Live && (before.Own != p.Own || before.Proxy != p.Proxy || before.Other != p.Other):
		t.Fatalf("%+v was widened to %+v", before, p)
	case p.Peer != tag || a.Out && !p.Out || a.In && !p.In || stood && before.Peer == tag && (before.Out && !p.Out || before.In && !p.In):
		t.Fatalf("%+v was accepted as %+v", a, p)
	default:
		m.tell(t, p)
	}
}

// latest is until when nothing that rests is over.
func (m *machine) latest(pacts []Pact) model.Instant {
	first := model.Instant(1 << 62)
	for _, p := range pacts {
		if p.State == Resting {
			first = min(first, p.Rests)
		}
	}
	return first
}

func (m *machine) cancel(t *rapid.T) {
	if p, found := m.some(t, Opening); found {
		m.store.Cancel(m.now, p.Number)
	}
}

func (m *machine) end(t *rapid.T) {
	if p, found := m.some(t, Live); found {
		m.ended(t, p)
	}
}

func (m *machine) ended(t *rapid.T, p Pact) {
	rests, was := m.store.End(m.now, p.Number)
	if last := m.use[p.Proxy].at; !was || rests.Rests.Before(last.Add(m.options.Rest)) {
		t.Fatalf("%+v was last used at %d s and rests as %+v", p, last/second, rests)
	}
	m.tags[p.Own] = m.now
	delete(m.names, p.Number)
}

func (m *machine) used(t *rapid.T) {
	p, found := m.some(t, Live)
	if !found {
		return
	}
	if rapid.Bool().Draw(t, "by a question") {
		m.store.Answered(m.now, p.Number)
	} else {
		m.store.Used(p.Number, m.now)
	}
	last := m.use[p.Proxy]
	last.at, last.rests = m.now, m.now.Add(m.options.Rest)
	m.use[p.Proxy] = last
}

func (m *machine) renew(t *rapid.T) {
	if p, found := m.some(t, Live); found {
		m.store.Renew(m.now, p.Number, m.now.Add(40*time.Second))
	}
}

func (m *machine) wait(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "milliseconds")) * time.Millisecond)
}

func (m *machine) due(t *rapid.T) {
	_, idle, over := m.store.Due(m.now)
	named := map[uint16]bool{}
	for _, p := range slices.Concat(idle, over) {
		named[p.Number], m.told[p.Number] = true, m.now
	}
	if next, some := m.store.NextEvent(); some && !m.now.Before(next) {
		t.Fatalf("after Due the next event is %v ago", m.now.Sub(next))
	}
	for p := range m.store.All() {
		isDue := p.State == Live && (!m.now.Before(p.Until) || !m.now.Before(p.Used.Add(m.options.Idle)))
		if isDue != named[p.Number] && p.State == Live && (!isDue || m.now.Sub(m.told[p.Number]) > again) {
			t.Fatalf("%+v at %d s: due %v, named %v", p, m.now/second, isDue, named[p.Number])
		}
	}
	if rapid.Bool().Draw(t, "act") {
		for _, p := range slices.Concat(idle, over) {
			m.ended(t, p)
		}
	}
}

func (m *machine) reconfigure(t *rapid.T) {
	o := m.options
	o.Proxy = rapid.SampledFrom(ranges).Draw(t, "range")
	o.Rest = max(o.Rest, time.Duration(rapid.IntRange(1, 60).Draw(t, "rest"))*time.Second) // a shorter one is for what comes
	for _, p := range m.store.Reconfigure(m.now, o) {
		if o.Proxy.Contains(p.Proxy) && slices.Contains(usableOf(o.Proxy), p.Proxy) {
			t.Fatalf("%v was ended, and is in %v", p.Proxy, o.Proxy)
		}
		m.tags[p.Own] = m.now
		delete(m.names, p.Number)
	}
	for a, last := range m.use {
		if m.now.Before(last.rests) { // what is over stays so
			last.rests = max(last.rests, last.at.Add(o.Rest))
			m.use[a] = last
		}
	}
	m.options = o
}

// restart is a daemon killed at any place, and the next one: openings are lost, some pacts are in the kernel and not on the
// disk, some on the disk and not in the kernel, some in the kernel, though the disk has their end.
func (m *machine) restart(t *rapid.T) {
	old := slices.Collect(m.store.All())
	slices.SortFunc(old, func(a, b Pact) int { return a.Proxy.Compare(b.Proxy) })
	m.store, m.tags = New(m.options), map[uint32]model.Instant{}
	var live, nameless []Pact
	for _, p := range old {
		_, hasNone := m.names[p.Number]
		switch fate := rapid.IntRange(0, 9).Draw(t, "fate"); {
		case p.State == Opening:
			continue
		case p.State == Resting:
		case hasNone || fate == 0:
			nameless = append(nameless, p)
			continue
		case fate == 1:
			p.State, p.Used, p.Rests = Resting, m.now, m.now.Add(m.options.Rest)
		case fate == 2:
			live = append(live, p)
			p.State, p.Rests = Resting, m.now.Add(m.options.Rest)
		default:
			live = append(live, p)
			continue
		}
		if err := m.store.Adopt(m.now, p); err != nil {
			t.Fatal(err)
		}
		if p.Number > 0 {
			m.tags[p.Own] = p.Used
		}
	}
	for _, p := range live {
		if err := m.store.Adopt(m.now, p); err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
	}
	for _, p := range nameless {
		known, had := m.names[p.Number]
		if !had {
			known = p
		}
		m.names[p.Number] = known
		p.Key, p.Other, p.Peers = Key{Host: p.Host}, 0, ""
		if err := m.store.Adopt(m.now, p); err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
	}
}

// name is a peer's `resume`, which says whose a pact is that was adopted without names.
func (m *machine) name(t *rapid.T) {
	for _, number := range slices.Sorted(maps.Keys(m.names)) {
		p := m.names[number]
		_, another := m.store.ByKey(p.Key)
		if err := m.store.Named(number, p.Key, p.Other, p.Peers); (err != nil) != another {
			t.Fatalf("%+v: %v, and it has another: %v", p, err, another)
		}
		delete(m.names, number)
		if another {
			now, _ := m.store.ByTag(p.Own)
			m.ended(t, now)
		}
	}
}

// check holds what is always so.
func (m *machine) check(t *rapid.T) {
	keys, numbers, proxies := map[Key]bool{}, map[uint16]bool{}, map[netip.Addr]bool{}
	for p := range m.store.All() {
		if e := m.store.byProxy[p.Proxy]; proxies[p.Proxy] && (p.State != Resting || e == nil || e.State != Opening || e.prior == nil) {
			t.Fatalf("%v is there twice", p.Proxy)
		}
		proxies[p.Proxy] = true
		if p.State == Resting {
			continue
		}
		if numbers[p.Number] || keys[p.Key] && p.Remote != "" || uint16(p.Own) != p.Number || p.Number == 0 || !slices.Contains(usableOf(m.options.Proxy), p.Proxy) {
			t.Fatalf("%+v, twice or nowhere", p)
		}
		numbers[p.Number], keys[p.Key] = true, true
		if found, ok := m.store.ByTag(p.Own); !ok || found.Number != p.Number {
			t.Fatalf("%+v is not found by its tag", p)
		}
		if found, ok := m.store.ByProxy(p.Host, p.Proxy); ok != (p.State == Live) || ok && found.Own != p.Own {
			t.Fatalf("%+v is not found by its address", p)
		}
	}
	for _, p := range m.store.places.free.all() {
		if proxies[m.store.places.usable[p]] {
			t.Fatalf("%v is free and is not", m.store.places.usable[p])
		}
	}
	if free := m.store.numbers.free.length; free+len(numbers) != m.options.Most {
		t.Fatalf("%d numbers are free, %d taken, of %d", free, len(numbers), m.options.Most)
	}
}

// all lists a queue, the first to come first.
func (q *queue) all() (list []int) {
	end := len(q.next) - 1
	for i := int(q.next[end]); i != end; i = int(q.next[i]) {
		list = append(list, i)
	}
	return list
}
