package dynamic

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
	"github.com/realmgate/realmgate/internal/registry"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// realm is what a configuration has.
type realm map[string]string

func (r realm) Named(n model.Name) string     { return r[n.String()] }
func (r realm) Addressed(a netip.Addr) string { return r[a.String()] }
func (realm) Expect(int)                      {}
func (realm) Put(model.Name, registry.HostSpec) (*registry.Host, error) {
	return &registry.Host{}, nil
}
func (realm) Remove(model.Name, model.Name) *registry.Host { return nil }

// home is an entry with leases, in two prefixes.
func home() settings.Entry {
	return settings.Entry{
		Zone: "home.example.", Source: settings.Dnsmasq, File: "leases",
		Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.1.0/24"), netip.MustParsePrefix("10.0.2.0/24")},
		Services: []settings.Service{{Ports: []model.Port{{Protocol: model.TCP, Port: 22, To: 22}}}, {Label: "www", Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 8080}}}},
	}
}

type trial struct {
	*table
	t   *testing.T
	e   *entry
	now time.Time
}

func newTrial(t *testing.T, r realm, more ...settings.Entry) *trial {
	tr := &trial{newTable(), t, nil, noon}
	tr.configure(r, append([]settings.Entry{home()}, more...))
	tr.e = tr.entries[entryKey(home())]
	return tr
}

// lease is "name address client", "-" for no name, for an hour.
func lease(text string) Lease {
	words := strings.Fields(text)
	l := Lease{Name: strings.TrimPrefix(words[0], "-"), Address: netip.MustParseAddr(words[1]), Ends: noon.Add(time.Hour)}
	if len(words) > 2 {
		l.Client = words[2]
	}
	return l
}

// reads has the table read leases, twice where hosts are missing, and returns what came, what went, and who was refused.
func (tr *trial) reads(leases ...string) (told string) {
	tr.t.Helper()
	var list []Lease
	for _, text := range leases {
		list = append(list, lease(text))
	}
	c := tr.read(tr.e, say(list...), tr.now)
	told = tell(c)
	if c.again {
		if more := tell(tr.read(tr.e, say(list...), tr.now)); more != "" {
			told = strings.TrimSpace(told + " " + more)
		}
	}
	tr.consistent()
	return told
}

// say is what a source says.
func say(leases ...Lease) contents {
	c := contents{leases: leases, at: map[netip.Addr]int{}}
	for i, l := range leases {
		c.at[l.Address] = i
	}
	return c
}

func tell(c changes) string {
	var words []string
	for sign, list := range map[string][]*Host{"-": c.gone, "+": c.come} {
		for _, h := range list {
			words = append(words, fmt.Sprintf("%s%s@%s", sign, strings.TrimSuffix(h.Name.String(), ".home.example."), h.Address))
		}
	}
	slices.Sort(words)
	for _, r := range c.refused {
		words = append(words, "!"+r.who)
	}
	return strings.Join(words, " ")
}

// consistent holds the table's indexes against each other.
func (tr *trial) consistent() {
	tr.t.Helper()
	n := 0
	for _, e := range tr.entries {
		of := make([]int, len(e.Prefixes))
		for name, h := range e.hosts {
			n++
			if tr.named(name) != h || tr.at[h.Address] != h || h.entry != e || h.Name != name {
				tr.t.Errorf("%+v is not where it is", h)
			}
			of[slices.IndexFunc(e.Prefixes, func(p netip.Prefix) bool { return p.Contains(h.Address) })]++
		}
		if !slices.Equal(of, e.of) {
			tr.t.Errorf("prefixes have %v, and %v is counted", of, e.of)
		}
	}
	if n != len(tr.at) {
		tr.t.Errorf("%d hosts, %d addresses", n, len(tr.at))
	}
}

func TestLeasesComeAndGo(t *testing.T) {
	tr := newTrial(t, realm{})
	for _, step := range []struct{ leases, want string }{
		{"laptop 10.0.1.5 aa", "+laptop@10.0.1.5"},
		{"laptop 10.0.1.5 aa", ""},
		{"laptop 10.0.1.5 aa, Phone.HOME.example 10.0.2.5 bb", "+phone@10.0.2.5"},
		{"tablet 10.0.1.5 aa, phone 10.0.2.5 bb", "+tablet@10.0.1.5 -laptop@10.0.1.5"}, // it has another name
		{"- 10.0.1.5 aa, phone 10.0.2.5 bb", ""},                                       // it says none
		{"tablet 10.0.1.5 cc, phone 10.0.2.5 bb", "+tablet@10.0.1.5 -tablet@10.0.1.5"}, // another client has the address
		{"phone 10.0.2.5 bb", "-tablet@10.0.1.5"},
		{"phone 10.0.1.7 bb", "+phone@10.0.1.7 -phone@10.0.2.5"}, // it has moved
	} {
		if got := tr.reads(strings.Split(step.leases, ", ")...); got != step.want {
			t.Errorf("%s: %q, want %q", step.leases, got, step.want)
		}
	}
	if got := tr.reads(); got != "-phone@10.0.1.7" {
		t.Errorf("an empty file: %q", got)
	}
}

// A host that one reading lacks is there until the next: programs rewrite their files in place.
func TestOneReadingEndsNobody(t *testing.T) {
	tr := newTrial(t, realm{})
	tr.reads("laptop 10.0.1.5 aa")
	if c := tr.read(tr.e, say(), noon); !c.again || len(c.gone) > 0 {
		t.Errorf("%+v", c)
	}
	if c := tr.read(tr.e, say(lease("laptop 10.0.1.5 aa")), noon); c.again || tell(c) != "" {
		t.Errorf("%+v", c)
	}
	over := lease("laptop 10.0.1.5 aa")
	over.Ends = noon
	if c := tr.read(tr.e, say(over), noon); tell(c) != "-laptop@10.0.1.5" {
		t.Errorf("a lease that the source says is over: %s", tell(c))
	}
}

// What a neighbour calls itself takes nothing from anybody.
func TestNeighboursTakeNothing(t *testing.T) {
	tr := newTrial(t, realm{
		"www.home.example.": "a name of www", "mail.home.example.": "answered by *.home.example.", "www.shop.home.example.": "a name of shop", "10.0.1.9": "the gateway's own",
	})
	tr.reads("laptop 10.0.1.5 aa")
	for name, want := range map[string]string{
		"laptop 10.0.1.4 ee":               "!laptop at 10.0.1.4", // and stands before the host that has it
		"LAPTOP 10.0.1.4 ee":               "!LAPTOP at 10.0.1.4",
		"www 10.0.1.6 ee":                  "!www at 10.0.1.6",
		"mail 10.0.1.6 ee":                 "!mail at 10.0.1.6",
		"shop 10.0.1.6 ee":                 "!shop at 10.0.1.6", // its service would be somebody's
		"evil 10.0.1.9 ee":                 "!evil at 10.0.1.9",
		"evil 10.0.3.6 ee":                 "!evil at 10.0.3.6",
		"evil 192.0.2.1 ee":                "!evil at 192.0.2.1",
		"evil.other.example 10.0.1.6 ee":   "!evil.other.example at 10.0.1.6",
		"www.laptop 10.0.1.6 ee":           "!www.laptop at 10.0.1.6",
		"x.laptop.home.example 10.0.1.6 e": "!x.laptop.home.example at 10.0.1.6",
		"home.example 10.0.1.6 ee":         "!home.example at 10.0.1.6",
		"*.home.example 10.0.1.6 ee":       "!*.home.example at 10.0.1.6",
		"_acme-challenge 10.0.1.6 ee":      "!_acme-challenge at 10.0.1.6",
		"WPAD 10.0.1.6 ee":                 "!WPAD at 10.0.1.6",
		"isatap.home.example. 10.0.1.6 ee": "!isatap.home.example. at 10.0.1.6",
		"x- 10.0.1.6 ee":                   "!x- at 10.0.1.6",
		"a\x00b 10.0.1.6 ee":               "!a\x00b at 10.0.1.6",
		"ﬁne 10.0.1.6 ee":                  "!ﬁne at 10.0.1.6",
	} {
		// The server has taken the name from the lease that had it, as dnsmasq does, where the same is asked for.
		if got := tr.reads("- 10.0.1.5 aa", name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		tr.reads("laptop 10.0.1.5 aa")
		if h := tr.named("laptop.home.example."); h == nil || h.Client != "aa" {
			t.Fatalf("%q: laptop is %+v", name, h)
		}
	}
	tr.now = noon.Add(time.Hour)
	if c := tr.expire(tr.now, func(*entry) bool { return false }); tell(c) != "-laptop@10.0.1.5" {
		t.Errorf("its lease is over: %s", tell(c))
	}
	free := lease("laptop 10.0.1.4 ee")
	free.Ends = time.Time{}
	if c := tr.read(tr.e, say(free), tr.now); tell(c) != "+laptop@10.0.1.4" {
		t.Errorf("a name that nobody has any more: %s", tell(c))
	}
}

// Neighbours of one prefix leave the others' part of the table alone.
func TestAPrefixHasItsPart(t *testing.T) {
	tr := newTrial(t, realm{})
	var flood []Lease
	for n := range settings.MostHosts {
		flood = append(flood, Lease{Name: fmt.Sprintf("h%d", n), Address: netip.AddrFrom4([4]byte{10, 0, 1, byte(n)}), Client: "ee"})
	}
	tr.e.Prefixes[0] = netip.MustParsePrefix("10.0.0.0/15")
	for n := range flood {
		flood[n].Address = netip.AddrFrom4([4]byte{10, 1, byte(n >> 8), byte(n)})
	}
	c := tr.read(tr.e, say(append(flood, lease("phone 10.2.0.5 bb"))...), noon)
	if len(c.come) != settings.MostHosts/2 || !errors.Is(c.refused[0].why, errFull) {
		t.Errorf("%d have come, and %d not: %v", len(c.come), len(c.refused), c.refused[0])
	}
	tr.e.Prefixes[1] = netip.MustParsePrefix("10.2.0.0/16")
	if c := tr.read(tr.e, say(append(flood, lease("phone 10.2.0.5 bb"))...), noon); len(c.come) != 1 || c.come[0].Name != "phone.home.example." {
		t.Errorf("%d have come", len(c.come))
	}
}

// Another configuration leaves those who may still be what they are, and ends the others.
func TestConfigureKeepsWhoMayStay(t *testing.T) {
	other := settings.Entry{Zone: "home.example.", Source: settings.Kea, File: "kea", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.3.0/24")}}
	tr := newTrial(t, realm{}, other)
	tr.reads("laptop 10.0.1.5 aa", "phone 10.0.2.5 bb", "tv 10.0.2.6 cc")
	tr.read(tr.entries[entryKey(other)], say(lease("camera 10.0.3.5 dd")), noon)
	narrower := home()
	narrower.Prefixes = narrower.Prefixes[1:]
	c := tr.configure(realm{"tv.home.example.": "a name of tv"}, []settings.Entry{narrower})
	if got := tell(c); got != "-camera@10.0.3.5 -laptop@10.0.1.5 -tv@10.0.2.6 !laptop.home.example. at 10.0.1.5 !tv.home.example. at 10.0.2.6" &&
		got != "-camera@10.0.3.5 -laptop@10.0.1.5 -tv@10.0.2.6 !tv.home.example. at 10.0.2.6 !laptop.home.example. at 10.0.1.5" {
		t.Errorf("%q", got)
	}
	tr.consistent()
	if h := tr.named("phone.home.example."); h == nil || len(tr.at) != 1 {
		t.Errorf("%+v", tr.at)
	}
	opens := narrower
	opens.Services = opens.Services[:1]
	if c := tr.configure(realm{}, []settings.Entry{opens}); tell(c) != "+phone@10.0.2.5 -phone@10.0.2.5" { // it comes again with what it opens now
		t.Errorf("%q", tell(c))
	}
}
