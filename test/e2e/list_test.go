package e2e

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// publisher serves pages that a test changes.
type publisher struct {
	server *http.Server
	url    string

	mutex sync.Mutex
	pages map[string]string // by path; others are not found
	asked map[string]int
}

func publish(t *testing.T, at netns.Node) *publisher {
	t.Helper()
	listener, err := at.Listen("tcp4", fmt.Sprintf("%s:8000", at.IP))
	if err != nil {
		t.Fatal(err)
	}
	p := &publisher{url: "http://" + listener.Addr().String(), pages: map[string]string{}, asked: map[string]int{}}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }()
	t.Cleanup(func() { _ = p.server.Close() })
	return p
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.asked[r.URL.Path]++
	page, found := p.pages[r.URL.Path]
	if !found {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = w.Write([]byte(page))
}

// put changes a page; without lines there is none.
func (p *publisher) put(path string, lines ...string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.pages[path] = strings.Join(lines, "\n") + "\n"
	if len(lines) == 0 {
		delete(p.pages, path)
	}
}

func (p *publisher) times(path string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.asked[path]
}

// lists shows them by name.
func (d *daemon) lists() map[string]client.List {
	d.t.Helper()
	byName := map[string]client.List{}
	for _, l := range list[[]client.List](d, "lists") {
		byName[l.Name] = l
	}
	return byName
}

// refresh fetches a list and waits until it had an answer.
func (d *daemon) refresh(p *publisher, name, path string, flags ...string) {
	d.t.Helper()
	before := p.times(path)
	if out, err := d.tell(append([]string{"lists", "refresh", name}, flags...)...); err != nil || out != "1 list to fetch now\n" {
		d.t.Fatalf("lists refresh: %v: %s", err, out)
	}
	eventually(d.t, 10*time.Second, name+" is fetched", func() bool { return p.times(path) > before })
}

// onList reports whether the policy in force has an address on a list.
func (d *daemon) onList(address netip.Addr, name string) bool {
	d.t.Helper()
	out, err := d.tell("explain", address.String(), "--to", "echo."+hostName(0))
	if err != nil {
		d.t.Fatal(out)
	}
	return strings.Contains(out, address.String()+" is of list "+name)
}

// The guide's lists: who comes onto a list loses what is open, without a reload; a list
// that fails, and a start without its server, leave the last good copy in force.
func TestGuideLists(t *testing.T) {
	t.Parallel()
	const drop, partners = "/drop.txt", "/partners.csv"
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3, Servers: 1})
	r.echoServers()
	p := publish(t, r.Servers[0])
	blocked, allowed, other := r.Clients[0], r.Clients[1], r.Clients[2]
	p.put(drop, "203.0.113.0/24 ; nobody here")
	p.put(partners, "name,address", "one,"+allowed.IP.String())
	d := r.start(r.configuration() + r.guideFrom("lists", "lists.md", "https://lists.example", p.url))
	eventually(t, 10*time.Second, "the first copies", func() bool {
		l := d.lists()
		return l["drop"].Entries == 1 && l["partners"].Entries == 1
	})
	talk := r.conversation(blocked, 0)

	p.put(drop, "# enemies", blocked.IP.String(), allowed.IP.String(), "2001:db8::/32")
	d.refresh(p, "drop", drop)
	eventually(t, 10*time.Second, "the new copy is in force", func() bool { return d.onList(blocked.IP, "drop") })
	mustHold := func(when string) {
		t.Helper()
		address := r.mustLend(other, "echo."+hostName(0))
		if who, err := echo(blocked, netip.AddrPort{}, echoAddress(address)); err == nil {
			t.Errorf("%s who is blocked reached %s", when, who)
		}
		r.mustReach(allowed, 0)
		r.mustReach(other, 0)
	}
	if !d.refuses(talk, "drop_denied") {
		t.Error("what was open to who is blocked now goes on")
	}
	mustHold("at once")
	if out, err := d.tell("ban", "add", allowed.IP.String()); err == nil || !strings.Contains(out, "the allowlist has it: list partners") {
		t.Errorf("ban add: %v: %s", err, out)
	}

	generation := d.status().Generation
	for want, page := range map[string][]string{"the server answered 500": nil, "no list of addresses": {"<html><body>" + other.IP.String()}} {
		p.put(drop, page...)
		d.refresh(p, "drop", drop)
		eventually(t, 10*time.Second, "the error is shown", func() bool { return strings.Contains(d.lists()["drop"].Error, want) })
		if l := d.lists()["drop"]; l.Entries != 3 || l.Checked.IsZero() {
			t.Errorf("after an error the list is %+v", l)
		}
	}
	if d.warning("list drop is not fetched") == "" {
		t.Error("status says nothing of a list that failed twice")
	}
	mustHold("after errors")
	if now := d.status().Generation; now != generation {
		t.Errorf("errors made generation %d of %d", now, generation)
	}

	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
	for how, end := range map[string]func(){"a kill": d.kill, "a stop": d.stop} {
		end()
		d.run()
		mustHold("after " + how)
		if l := d.lists()["drop"]; l.Entries != 3 || l.Fetched.IsZero() {
			t.Errorf("after %s the list is %+v", how, l)
		}
	}
}

// A reload keeps lists that are the same, and forgets others with their copies; what was
// never had drops nobody; what shrinks is taken when it is forced.
func TestListsOverReloads(t *testing.T) {
	t.Parallel()
	const kept, moved = "/kept.txt", "/moved.txt"
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
	r.echoServers()
	p := publish(t, r.Servers[0])
	var many []string
	for n := range 40 {
		many = append(many, fmt.Sprintf("203.0.113.%d", n))
	}
	who := r.Clients[0]
	p.put(kept, append(many, who.IP.String())...)
	configuration := func(path string) string {
		return r.configuration() + fmt.Sprintf(`lists: [{name: kept, url: "%s%s"}, {name: never, url: "%s/never.txt"}]
protection: {blocklist: [{list: kept}, {list: never}]}
`, p.url, path, p.url)
	}
	d := r.start(configuration(kept))
	eventually(t, 10*time.Second, "the list is in force", func() bool { return d.onList(who.IP, "kept") })
	eventually(t, 10*time.Second, "the other has failed", func() bool { return d.lists()["never"].Error != "" })
	if l := d.lists()["never"]; l.Entries != 0 || !l.Fetched.IsZero() || l.Failures == 0 {
		t.Errorf("what was never had is %+v", l)
	}
	reload := func() {
		t.Helper()
		if out, err := d.tell("reload"); err != nil {
			t.Fatal(out)
		}
	}
	reload()
	if !d.onList(who.IP, "kept") || p.times(kept) != 1 {
		t.Errorf("a reload lost the list, or fetched it again: %d times", p.times(kept))
	}

	p.put(kept, "203.0.113.7")
	d.refresh(p, "kept", kept)
	eventually(t, 10*time.Second, "the refusal is shown", func() bool { return strings.Contains(d.lists()["kept"].Error, "shrunk") })
	if !d.onList(who.IP, "kept") {
		t.Error("a list that has shrunk is in force")
	}
	d.refresh(p, "kept", kept, "--force")
	eventually(t, 10*time.Second, "the short copy is in force", func() bool { return !d.onList(who.IP, "kept") })
	r.mustReach(who, 0)

	p.put(moved, who.IP.String())
	d.write(configuration(moved))
	reload()
	eventually(t, 10*time.Second, "the list of the new URL is in force", func() bool { return d.onList(who.IP, "kept") })
	copies := func() int {
		files, err := os.ReadDir("/var/lib/realmgate/" + d.instance + ".lists")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	eventually(t, 10*time.Second, "its copy is on the disk", func() bool { return copies() == 1 })
	d.write(r.configuration())
	reload()
	if n := len(d.lists()); n != 0 || copies() != 0 {
		t.Errorf("%d lists and %d copies of what is configured no more", n, copies())
	}
	r.mustReach(who, 0)
	if out, err := d.tell("lists", "refresh", "kept"); err == nil || !strings.Contains(out, "there is no list kept") {
		t.Errorf("a refresh of what is configured no more: %v: %s", err, out)
	}
}
