package page

import "testing"

// Four questions have their answers within two clicks of the first screen.
func TestAnswers(t *testing.T) {
	t.Parallel()
	g := newGateway(t, busy)
	b := newBrowser(t, g.Gateway.Namespace)
	held := g.visit(g.Clients[0], "www.host1.foo.example").String()
	if out, err := g.tell("ban", "add", "203.0.113.7", "--for", "1h"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	base := g.enter(b)
	b.shows("#sentence", "All is well") // is it well?

	b.click(`nav a[href="/sessions"]`) // who holds the address?
	b.until("all is shown", `document.querySelector("#by-state-card b") !== null && document.querySelector("#each-card tbody tr") !== null`)
	b.click(`#each-card a[href$="address=` + held + `"]`)
	b.shows("#about-card", "host1.foo.example.")
	b.shows("#about-card", "holds it")

	b.open(base + "/")
	b.click(`#figure-list a[href="/protection"]`) // why is 203.0.113.7 refused, and how does it get in again?
	b.shows("main", "203.0.113.7")
	b.shows("main", "manual: by hand")
	b.until("Unban is offered", `document.querySelector('[aria-label="Unban 203.0.113.7"]')?.innerText === "Unban"`)

	b.open(base + "/explain?address=203.0.113.7&to=www.host1.foo.example") // as a colleague sends it
	b.shows("#verdict", "would be dropped")
	b.shows("#remedy", "realmgate ban remove 203.0.113.7/32")
	b.quiet("answers")
}
