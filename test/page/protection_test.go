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

// A ban that holds for longer is not cut short by one click: the page says which holds, and has nothing to take back.
func TestShorterBanChangesNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t, busy)
	b := newBrowser(t, g.Gateway.Namespace)
	for _, ban := range [][]string{{"203.0.113.7"}, {"192.0.2.0/24", "--for", "3d"}} {
		if out, err := g.tell(append([]string{"ban", "add"}, ban...)...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	g.enter(b)
	b.screen("b", "/protection")
	b.until("the bans are listed", `document.querySelector('[aria-label="Unban 203.0.113.7"]') !== null`)
	for whom, said := range map[string]string{
		"203.0.113.7":  "203.0.113.7 stays banned: the ban of 203.0.113.7 holds for ever.",
		"192.0.2.0/24": "192.0.2.0/24 stays banned: the ban of 192.0.2.0/24 holds for 3 d",
	} {
		b.focus(`input[name="whom"]`)
		b.write(whom)
		b.press("Enter")
		b.shows("#said", said)
		b.until("there is nothing to take back", `document.querySelector("#said button") === null`)
	}
	b.focus(`input[name="whom"]`)
	b.write("192.0.2.7")
	b.press("Enter")
	b.shows("#said", "192.0.2.7 is banned for 24 h")
	b.shows("#said", "and the ban of 192.0.2.0/24 holds for 3 d")
	var answer string
	b.eval(`fetch("/v1/bans/add", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"prefixes":["203.0.113.7/32"],"seconds":60}'}).then((r) => r.text())`, &answer)
	if !strings.Contains(answer, `"prefixes":0`) || !strings.Contains(answer, `"longer":[{"prefix":"203.0.113.7/32"`) {
		t.Errorf("the API answers %s", answer)
	}
	out, err := g.tell("ban", "list")
	if err != nil || !strings.Contains(out, "for ever") {
		t.Errorf("%v: the ban for ever is no more:\n%s", err, out)
	}
	b.focus("#said button")
	b.press("Enter")
	b.shows("#said", "192.0.2.7 is still kept away by the ban of 192.0.2.0/24.")
	b.quiet("protection")
}
