package e2e

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// While a name's host is silent, a reload gives the name to another host: who waits is served by that one, though the former host
// has another name at the same port.
func TestWebNameLeadsElsewhereMeanwhile(t *testing.T) {
	t.Parallel()
	const silent, serves = 0, 1
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	client, hosts := r.Clients[0], r.Hosts()
	r.filtersPort(hosts[silent], 8080, "drop")
	webServer(t, hosts[serves], 8080, hostName(silent))
	text := with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}")
	d := r.start(text)
	readsNames(t, client)
	before, after := hostEntry(silent, hosts[silent].IP)+hostEntry(serves, hosts[serves].IP), hostEntry(silent, hosts[serves].IP)+hostEntry(serves, hosts[silent].IP)
	reloads := func(text string) {
		d.write(text)
		if out, err := d.tell("reload"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	const within = 2500 * time.Millisecond // the silent host has three seconds
	for range 5 {
		read, began := d.status().Web.Read, time.Now()
		c, err := visits(client, webRequest(silent))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		eventually(t, 10*time.Second, "the name is read", func() bool { return d.status().Web.Read > read })
		reloads(strings.Replace(text, before, after, 1))
		if time.Since(began) > within { // the machine is slow
			reloads(text)
			continue
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if page, err := io.ReadAll(c); err != nil || !strings.Contains(string(page), hostName(silent)) {
			t.Errorf("%v, the page is %q", err, page)
		}
		return
	}
	t.Errorf("no reload of 5 came within %v after a visit began", within)
}
