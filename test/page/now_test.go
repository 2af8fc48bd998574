package page

import (
	"strings"
	"testing"
)

// The first minute: the link opens the page, it says how the gateway is, and the ring shows what becomes of a name that is asked.
func TestNow(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	b.open(g.link())
	b.until("the ring is drawn", `document.querySelectorAll("#ring path.use-bound").length === 2`)
	if got := b.text("#sentence"); !strings.HasPrefix(got, "All is well:") {
		t.Errorf("health is %q", got)
	}
	b.until("figures are live", `document.querySelector("#figure-list").dataset.live === "yes"`)
	address := g.ask(g.Clients[0], "www.host1.foo.example")
	b.until("the address is offered", `document.querySelector('#ring path[aria-label="`+address.String()+` offered"]') !== null`)
	g.visit(g.Clients[0], "www.host1.foo.example")
	b.until("the address is claimed", `document.querySelector('#ring path[aria-label="`+address.String()+` claimed"]') !== null`)
	b.look("now")
	b.quiet("now")
}
