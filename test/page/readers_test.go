package page

import (
	"strings"
	"testing"
)

// Who may only read is shown no button that changes something, and told the command instead.
func TestReaders(t *testing.T) {
	t.Parallel()
	g := newGateway(t, busy+`api: {listen: ["127.0.0.1:9470"]}`+"\n")
	g.visit(g.Clients[0], "www.host1.foo.example")
	if out, err := g.tell("ban", "add", "203.0.113.7", "--for", "1h"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	secret, err := g.tell("token", "create", "ann", "--role", "read")
	if err != nil {
		t.Fatal(secret)
	}
	lines := strings.Split(strings.TrimSpace(secret), "\n")
	b := newBrowser(t, g.Gateway.Namespace)
	const at = "http://127.0.0.1:9470"
	b.open(at + "/")
	b.until("it asks for a token", `document.querySelector("#token") !== null`)
	b.forget() // a page that is refused is an error in the console
	b.focus("#token")
	b.write(lines[len(lines)-1])
	b.press("Enter")
	b.until("the page opens", `document.querySelector("#sentence") !== null`)
	for _, screen := range []struct{ path, shows, text string }{
		{"/sessions", "#each-card", g.Clients[0].IP.String()},
		{"/protection?address=203.0.113.7", "#bans-card", "realmgate ban remove 203.0.113.7/32"},
		{"/explain?address=203.0.113.7", "#question-card", "takes the role operate"},
		{"/chains?address=203.0.113.7", "main", "friends"},
		{"/configuration", "#diff-card", "takes the role admin"},
		{"/configuration", "#history-card", "start"},
		{"/gateway", "#interfaces-card", "eth0"},
	} {
		b.open(at + screen.path)
		b.shows(screen.shows, screen.text)
		b.settle()
		var buttons []string
		b.eval(`[...document.querySelectorAll("main button:not(:disabled)")].map((x) => x.innerText)`, &buttons)
		for _, one := range buttons {
			if name := strings.Fields(one); len(name) > 0 && strings.Contains("Unban Ban End Capture Refresh Reload Explain Confirm Roll", name[0]) {
				t.Errorf("%s: who may only read is shown the button %q", screen.path, one)
			}
		}
		b.quiet(screen.path)
	}
}
