package page

import (
	"strings"
	"testing"
)

// Who is banned is seen with the reason, and let in again, and kept out again where that is taken back, by keyboard alone.
func TestUnban(t *testing.T) {
	t.Parallel()
	g := newGateway(t, busy)
	b := newBrowser(t, g.Gateway.Namespace)
	client := g.Clients[0]
	address := g.visit(client, "www.host2.foo.example").String()
	if out, err := g.tell("ban", "add", client.IP.String(), "--for", "1h"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if reaches(client, address) {
		t.Fatal("a banned client gets through")
	}
	g.enter(b)
	b.screen("b", "/protection")
	row := `[aria-label="Unban ` + client.IP.String() + `"]`
	b.until("the ban is listed", "document.querySelector(`"+row+"`) !== null")
	if text := b.text("main"); !strings.Contains(text, "manual") || !strings.Contains(text, "min") {
		t.Errorf("the ban's reason and time left are not shown:\n%s", text)
	}
	b.focus(row)
	b.press("Enter")
	b.shows("#said", "is let in again")
	if !reaches(client, address) {
		t.Error("a client that was let in again does not get through")
	}
	b.focus("#said button")
	b.press("Enter")
	b.shows("#said", "is banned again for")
	if reaches(client, address) {
		t.Error("the ban is not back")
	}
	b.until("the ban is listed again", "document.querySelector(`"+row+"`) !== null")
	b.quiet("protection")
}
