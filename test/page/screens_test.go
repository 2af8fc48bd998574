package page

import (
	"net/url"
	"strings"
	"testing"
)

// enter opens the page by its link, and returns where it is.
func (g *gateway) enter(b *browser) string {
	g.t.Helper()
	link, err := url.Parse(g.link())
	if err != nil {
		g.t.Fatal(err)
	}
	b.open(link.String())
	b.until("the page opens", `document.querySelector("#ring svg, #ring canvas") !== null`)
	return "http://" + link.Host
}

// Who has an address, and for whom it was taken, is one choice away; it has an address that can be sent to somebody.
func TestRing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	at := g.enter(b)
	b.open(at + "/ring")
	b.until("the ring is drawn", `document.querySelectorAll("#ring path.use-bound").length === 6`)
	b.until("it hears of names", `performance.getEntriesByType("resource").some((r) => r.name.includes("/v1/pool/map"))`)
	b.remember()
	address := g.visit(g.Clients[0], "www.host2.foo.example").String()
	b.until("it is claimed", `seen.has("`+address+` claimed")`)
	b.eval(`document.querySelector('#ring path[aria-label^="`+address+` "]').dispatchEvent(new MouseEvent("click", {bubbles: true}))`, nil)
	b.until("it says who has it", `document.querySelector("#chosen").innerText.includes("www.host2.foo.example.")`)
	if text := b.text("#chosen"); !strings.Contains(text, address) || !strings.Contains(text, g.Clients[0].IP.String()) {
		t.Errorf("of %s it says %q, not that %s asked", address, text, g.Clients[0].IP)
	} else if !strings.Contains(text, "so far") {
		t.Errorf("of %s it says %q, which could be how long it will be so", address, text)
	}
	b.look("ring")
	b.quiet("ring")
	b.open(at + "/ring?at=" + address)
	b.until("the address of the page leads there", `document.querySelector("#chosen").innerText.includes("www.host2.foo.example.")`)
	b.quiet("ring by address")
}

// What is asked shows as it is asked, and whether somebody came.
func TestNames(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	at := g.enter(b)
	b.open(at + "/names")
	b.until("the names are listed", `document.querySelector("#names").dataset.live === "yes"`)
	asker := g.Clients[0].IP.String()
	g.visit(g.Clients[0], "www.host1.foo.example")
	b.until("the question and its claim show", `[...document.querySelectorAll("#log tr")].some((r) => r.innerText.includes("www.host1.foo.example.") && r.innerText.includes("`+asker+`") && r.innerText.includes("claimed after"))`)
	_, _ = g.Clients[1].Command(t.Context(), "dig", "+tcp", "+time=2", "+tries=1", "@"+g.Gateway.PublicAddress.String(), "nobody.foo.example").CombinedOutput()
	_, _ = g.Clients[1].Command(t.Context(), "dig", "+tcp", "+time=2", "+tries=1", "@"+g.Gateway.PublicAddress.String(), "example.net").CombinedOutput()
	b.until("refusals show", `document.querySelector("#log").innerText.includes("NXDOMAIN") && document.querySelector("#log").innerText.includes("no zone of this server")`)
	b.look("names")
	b.eval(`document.querySelector("#log button[aria-label='Ban `+asker+`']").click()`, nil)
	b.until("the ban is told", `document.querySelector("#said").innerText.includes("is banned")`)
	if out, err := g.tell("ban", "list"); err != nil || !strings.Contains(out, asker) {
		t.Errorf("the asker is not banned: %v %s", err, out)
	}
	b.eval(`[...document.querySelectorAll("#said button")].find((x) => x.innerText === "Undo").click()`, nil)
	b.until("it is taken back", `document.querySelector("#said").innerText.includes("let in again")`)
	b.click(`#log a[href^="/explain?address=` + asker + `"]`)
	b.shows("#verdict", "from "+asker)
	b.quiet("names")
}

// Why packets are dropped, with what to do, and each as it comes.
func TestDrops(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	at := g.enter(b)
	b.open(at + "/drops")
	b.until("the map is drawn", `document.querySelectorAll(".world path").length > 150`)
	stranger := g.Clients[0]
	shown := `document.querySelector("#log").innerText.includes("` + stranger.IP.String() + `") && document.querySelector("#reasons").innerText.includes("drop_no_binding")`
	eventually(t, callLimit, "a dropped packet shows", func() bool {
		_ = stranger.Command(t.Context(), "bash", "-c", "echo x >/dev/udp/"+g.Gateway.Pool.Addr().String()+"/9").Run()
		yes := false
		return b.try(shown, &yes) == nil && yes
	})
	b.until("a reason shows that it says more", `getComputedStyle(document.querySelector("#reasons summary .name"), "::before").content.includes("▸")`)
	b.look("drops")
	b.click(`#log a[href^="/explain?address=` + stranger.IP.String() + `"]`)
	b.shows("#verdict", "udp flow from "+stranger.IP.String()+" to "+g.Gateway.Pool.Addr().String()+" port 9")
	b.quiet("drops")
}
