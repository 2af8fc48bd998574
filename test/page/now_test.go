package page

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// The first minute: the link opens the page, it says how the gateway is, and the ring shows what becomes of a name that is asked.
func TestNow(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	b.open(g.link())
	b.until("the ring is drawn", `document.querySelectorAll("#ring path.use-bound").length === 6`)
	if got := b.text("#sentence"); !strings.HasPrefix(got, "All is well:") {
		t.Errorf("health is %q", got)
	}
	b.until("figures are live", `document.querySelector("#figure-list").dataset.live === "yes"`)
	b.remember()
	address := g.ask(g.Clients[0], "www.host1.foo.example")
	b.until("the address is offered", `seen.has("`+address.String()+` offered")`)
	g.visit(g.Clients[0], "www.host1.foo.example")
	b.until("the address is claimed", `seen.has("`+address.String()+` claimed")`)
	if os.Getenv("REALMGATE_SCREENSHOTS") != "" { // a picture of a gateway at work
		g.work(b)
	}
	b.look("now")
	b.quiet("now")
}

// remember has the page remember what the ring shows, be it for a moment.
func (b *browser) remember() {
	b.t.Helper()
	b.eval(`window.seen = new Set(); new MutationObserver((all) => all.forEach((m) => seen.add(m.target.getAttribute("aria-label"))))
		.observe(document.querySelector("#ring"), {subtree: true, attributeFilter: ["aria-label"]}); 0`, nil)
}

// work has people come and go for a while: what a picture shows.
func (g *gateway) work(b *browser) {
	g.t.Helper()
	begin := time.Now()
	eventually(g.t, time.Minute, "a while passes", func() bool {
		name := fmt.Sprintf("www.host%d.foo.example", 1+rand.IntN(3)) // #nosec G404 -- any
		g.visit(g.Clients[rand.IntN(2)], name)                        // #nosec G404
		return time.Since(begin) > 20*time.Second
	})
	for i, name := range []string{"www.host1.foo.example", "www.host4.foo.example"} { // these stay
		address := g.ask(g.Clients[i], name)
		c, err := g.Clients[i].DialContext(g.t.Context(), "tcp4", address.String()+":80")
		if err != nil {
			g.t.Fatal(err)
		}
		g.t.Cleanup(func() { _ = c.Close() })
	}
	if out, err := g.tell("ban", "add", "203.0.113.7", "--for", "1h"); err != nil {
		g.t.Fatal(out)
	}
	g.ask(g.Clients[0], "www.host5.foo.example")
	b.until("the offer shows", `document.querySelector("#ring path.use-offered") !== null`)
}
