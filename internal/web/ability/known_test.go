package ability

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

var (
	begin = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	all   = Can{datapath.WebPromise{MSS: 1460, SACK: true, Timestamps: true}, true}
)

func hostsOf(n int) (list []Host) {
	for i := range n {
		name := model.Name(fmt.Sprintf("h%d.example.", i))
		list = append(list, Host{Name: name, Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(100 + i)}), Sites: []Site{site("www." + name)}})
	}
	return list
}

func endpointOf(i int) Endpoint {
	return Endpoint{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(100 + i)}), 443), true, []string{fmt.Sprintf("www.h%d.example", i)}}
}

// middle draws no jitter.
func middle() float64 { return 0.5 }

func follows(hosts []Host, addresses int) *known {
	made := newKnown(middle)
	k := &made
	k.follow(hosts, addressesOf(addresses), begin)
	return k
}

// answers has a host asked and answer.
func (k *known) answers(i int, can Can, names ...model.Name) {
	k.asking++
	k.take(endpointOf(i), Answer{Can: can, TLS: true, Names: names}, begin)
}

func (k *known) fails(i int) {
	k.asking++
	k.take(endpointOf(i), Answer{Err: errors.New("refused")}, begin)
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	port := func(outside, inside uint16) model.Port {
		return model.Port{Protocol: model.TCP, Port: outside, To: inside}
	}
	h := Host{Name: "a.example.", Address: netip.MustParseAddr("10.0.0.1"), Sites: []Site{
		{[]model.Name{"www.example.", "*.shop.example."}, []model.Port{port(80, 8080), port(443, 443), {Protocol: model.UDP, Port: 443, To: 443}}},
		{[]model.Name{"api.example."}, []model.Port{port(443, 443)}},
		{[]model.Name{"old.example."}, []model.Port{port(80, 81)}},
	}}
	got := fmt.Sprint(h.endpoints())
	if want := "[{10.0.0.1:8080 false [www.example www.shop.example]} {10.0.0.1:443 true [www.example www.shop.example api.example]} {10.0.0.1:81 false [old.example]}]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for i := range 2 * mostAskedNames {
		h.Sites = append(h.Sites, site(model.Name(fmt.Sprintf("n%d.example.", i))))
	}
	if n := len(h.endpoints()[1].Names); n != mostAskedNames {
		t.Errorf("%d names are asked for", n)
	}
}

// All are asked at once, some at a time, then each ten minutes, and one that does not answer each minute. A reload asks anew.
func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(6), 1)
	asks := func(at time.Duration, again time.Duration, want ...int) {
		t.Helper()
		list, later := k.next(begin.Add(at))
		var hosts []int
		for _, e := range list {
			hosts = append(hosts, int(e.To.Addr().As4()[3])-100)
		}
		if !slices.Equal(hosts, want) || (again == 0) != later.IsZero() || again != 0 && later != begin.Add(again) {
			t.Errorf("after %s: asks %v and looks again after %s", at, hosts, later.Sub(begin))
		}
	}
	asks(0, 0, 0, 1, 2, 3)
	asks(0, 0)
	k.take(endpointOf(2), Answer{Can: all}, begin.Add(time.Second))
	asks(time.Second, 0, 4)
	for _, i := range []int{0, 1, 3} {
		k.take(endpointOf(i), Answer{Can: all}, begin.Add(time.Second))
	}
	asks(time.Second, 601*time.Second, 5)
	k.take(endpointOf(4), Answer{Err: errors.New("refused")}, begin.Add(time.Second))
	k.take(endpointOf(5), Answer{Can: all}, begin.Add(2*time.Second))
	asks(60*time.Second, 61*time.Second)
	asks(61*time.Second, 601*time.Second, 4)
	k.follow(hostsOf(5), addressesOf(1), begin.Add(70*time.Second))
	asks(70*time.Second, 0, 0, 1, 2)
	k.take(endpointOf(4), Answer{Can: all}, begin.Add(70*time.Second)) // of before
	asks(70*time.Second, 0, 3)
}

func TestJitter(t *testing.T) {
	t.Parallel()
	for drawn, want := range map[float64]time.Duration{0: 9 * time.Minute, 0.5: 10 * time.Minute, 1: 11 * time.Minute} {
		k := follows(hostsOf(1), 1)
		k.random = func() float64 { return drawn }
		k.answers(0, all)
		if _, again := k.next(begin); again != begin.Add(want) {
			t.Errorf("%v: again after %s", drawn, again.Sub(begin))
		}
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	first, weak := addressesOf(1)[0], Can{datapath.WebPromise{MSS: 536, SACK: true}, true}
	for name, c := range map[string]struct {
		does func(k *known)
		want datapath.WebPromise
		weak string
	}{
		"nobody has been asked": {func(*known) {}, datapath.LeastWebPromise, ""},
		"one is not known":      {func(k *known) { k.answers(0, all); k.answers(1, all) }, datapath.LeastWebPromise, ""},
		"one was asked in vain": {func(k *known) { k.answers(0, all); k.answers(1, all); k.fails(2) }, datapath.LeastWebPromise, "h2 unknown"},
		"all can all":           {func(k *known) { k.answers(0, all); k.answers(1, all); k.answers(2, all) }, all.WebPromise, ""},
		"one can less":          {func(k *known) { k.answers(0, all); k.answers(1, weak); k.answers(2, all) }, weak.WebPromise, "h1 smaller clocks"},
		"and is down":           {func(k *known) { k.answers(0, all); k.answers(1, weak); k.answers(2, all); k.fails(1) }, weak.WebPromise, "h1 smaller clocks"},
		"and more again":        {func(k *known) { k.answers(0, all); k.answers(1, weak); k.answers(2, all); k.answers(1, all) }, all.WebPromise, ""},
		"all can less":          {func(k *known) { k.answers(0, weak); k.answers(1, weak); k.answers(2, weak) }, weak.WebPromise, ""},
		"one has large frames": {func(k *known) {
			k.answers(0, Can{datapath.WebPromise{MSS: 8960, SACK: true, Timestamps: true}, true})
			k.answers(1, all)
			k.answers(2, Can{datapath.WebPromise{MSS: 1460}, false})
		}, datapath.WebPromise{MSS: 1460}, "h2 sack clocks"},
	} {
		k := follows(hostsOf(3), 1)
		c.does(k)
		j, held := k.judge(begin), ""
		for _, w := range j.weak {
			held += " " + string(w.Host[:2])
			for i, is := range []bool{w.Unknown, w.Smaller && !w.Unknown, w.NoSACK && !w.Unknown, w.NoTimestamps && !w.Unknown} {
				if is {
					held += " " + []string{"unknown", "smaller", "sack", "clocks"}[i]
				}
			}
		}
		if len(held) > 0 {
			held = held[1:]
		}
		if j.promises[first] != c.want || held != c.weak || len(j.weak) > 1 {
			t.Errorf("%s: promises %+v, %q holds others back", name, j.promises[first], held)
		}
	}
}

// What a host did for a client counts at once, for a day, and no longer: at the address where that was, and at that to which it
// moves, as it can less than the other.
func TestHeard(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(2), 3)
	k.answers(0, all)
	k.answers(1, all)
	addresses := addressesOf(3)
	host, to := k.hosts[1].Name, endpointOf(1).To
	if k.hear(weakness{"h0.example.", to, addresses[1], datapath.WebPromise{}}, begin) || k.hear(weakness{"other.", netip.AddrPort{}, addresses[1], datapath.WebPromise{}}, begin) {
		t.Error("it hears of what is not there")
	}
	k.hear(weakness{host, to, addresses[0], datapath.WebPromise{MSS: 1400, SACK: true, Timestamps: true}}, begin)
	k.hear(weakness{host, to, addresses[0], datapath.WebPromise{MSS: 1460, SACK: true}}, begin.Add(time.Second))
	k.answers(1, all) // the gateway's own connections are as before
	want := datapath.WebPromise{MSS: 1400, SACK: true}
	promises := k.judge(begin.Add(time.Minute)).promises
	if promises[addresses[0]] != want || promises[addresses[1]] != want || promises[addresses[2]] != datapath.LeastWebPromise || k.at[host] != addresses[1] {
		t.Errorf("%v, and it is at %s", promises, k.at[host])
	}
	if row := k.row(&k.hosts[1], begin.Add(time.Minute)); row.MSS != 1400 || row.Timestamps || !row.SACK {
		t.Errorf("%+v", row)
	}
	if promises := k.judge(begin.Add(heardFor + 2*time.Second)).promises; promises[addresses[0]] != all.WebPromise {
		t.Errorf("after a day: %v", promises)
	}
}

// Hosts whose certificates cover names of others go to other addresses as far as there are some, and stay; what is left is said.
func TestSharedCertificates(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(3), 2)
	k.answers(0, all, "www.h0.example.", "www.h1.example.")
	k.answers(2, all, "*.h1.example.")
	first, second := addressesOf(2)[0], addressesOf(2)[1]
	want := map[model.Name]netip.Addr{"h0.example.": first, "h1.example.": second, "h2.example.": first}
	if j := k.judge(begin); !maps.Equal(j.at, want) || len(j.shared) != 0 || len(j.warnings()) != 0 {
		t.Errorf("%v, shared %v, %q", j.at, j.shared, j.warnings())
	}
	k.answers(2, all, "www.h1.example.", "www.h0.example.")
	j := k.judge(begin)
	if !maps.Equal(j.at, want) || !slices.Equal(j.shared, []Shared{{"h2.example.", "h0.example.", "www.h0.example.", first}}) {
		t.Errorf("%v, shared %v", j.at, j.shared)
	}
	k.asking++ // who is down, or stops to speak TLS for a moment, has the certificate that it had
	k.take(endpointOf(2), Answer{Can: all}, begin)
	if k.fails(0); !slices.Equal(k.judge(begin).shared, j.shared) {
		t.Errorf("shared %v", k.judge(begin).shared)
	}
	k.follow(k.hosts, addressesOf(3), begin)
	if j := k.judge(begin); len(j.shared) != 0 || j.at["h1.example."] != second || j.at["h0.example."] != first {
		t.Errorf("with another address: %v, shared %v", j.at, j.shared)
	}
}

// Two hosts that each have the other's names are one pair.
func TestSharedCertificatesOfBoth(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(2), 1)
	for i := range 2 {
		k.answers(i, all, "www.h0.example.", "www.h1.example.")
	}
	if got, want := k.judge(begin).shared, (Shared{"h0.example.", "h1.example.", "www.h1.example.", addressesOf(1)[0]}); len(got) != 1 || got[0] != want {
		t.Errorf("shared %v, want %v alone", got, want)
	}
}

// Each address promises what all who are there can, and no less.
func TestPromiseProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "hosts")
		k := follows(hostsOf(n), rapid.IntRange(1, 3).Draw(t, "addresses"))
		can := map[model.Name]datapath.WebPromise{}
		for i := range n {
			host := k.hosts[i].Name
			can[host] = datapath.LeastWebPromise
			if rapid.Bool().Draw(t, "answers") {
				c := datapath.WebPromise{
					MSS: rapid.SampledFrom([]uint16{536, 1200, 1460, 8960}).Draw(t, "mss"), SACK: rapid.Bool().Draw(t, "sack"), Timestamps: rapid.Bool().Draw(t, "timestamps"),
				}
				can[host] = c
				k.answers(i, Can{c, true}, model.Name(fmt.Sprintf("www.h%d.example.", rapid.IntRange(0, n-1).Draw(t, "certificate"))))
			}
			if rapid.Bool().Draw(t, "fails") {
				k.fails(i)
			}
		}
		j := k.judge(begin)
		for a, p := range j.promises {
			var here []datapath.WebPromise
			for host, at := range j.at {
				if at == a {
					here = append(here, can[host])
				}
			}
			if len(here) == 0 {
				here = []datapath.WebPromise{datapath.LeastWebPromise}
			}
			want := here[0]
			for _, c := range here {
				want.MSS, want.SACK, want.Timestamps = min(want.MSS, c.MSS), want.SACK && c.SACK, want.Timestamps && c.Timestamps
			}
			if p != want {
				t.Errorf("%s promises %+v, and those there can %+v", a, p, here)
			}
		}
	})
}

// A host that says nonsense, or takes all its time to answer, harms no other.
func TestHostilesHarmNoOther(t *testing.T) {
	t.Parallel()
	const hosts = 2*mostAsking + 1
	k := follows(hostsOf(hosts), 1)
	asked := map[netip.AddrPort]bool{}
	for at := begin; len(asked) < hosts; at = at.Add(20 * time.Minute) { // all are due again, and answer one by one
		list, _ := k.next(at)
		for _, e := range list {
			asked[e.To] = true
			k.take(e, Answer{Can: all}, at)
		}
		if len(list) == 0 {
			t.Fatal("nobody is asked")
		}
		if at.After(begin.Add(time.Hour)) {
			t.Fatalf("after an hour %d of %d were asked", len(asked), hosts)
		}
	}
	k.answers(0, Can{datapath.WebPromise{MSS: 1, SACK: true, Timestamps: true}, true})
	first := addressesOf(1)[0]
	if p := k.judge(begin.Add(2 * time.Hour)).promises[first]; p.MSS != leastMSS {
		t.Errorf("promised is %+v", p)
	}
	k.hear(weakness{hostsOf(1)[0].Name, endpointOf(0).To, first, datapath.WebPromise{MSS: 3}}, begin.Add(2*time.Hour))
	if p := k.judge(begin.Add(2 * time.Hour)).promises[first]; p.MSS != leastMSS {
		t.Errorf("promised is %+v", p)
	}
}
