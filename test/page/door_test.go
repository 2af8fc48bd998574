package page

import (
	"strings"
	"testing"
)

// Without script the first screen has its sentence and its figures, and the others their tables.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.visit(g.Clients[0], "www.host1.foo.example")
	b := newBrowser(t, g.Gateway.Namespace)
	b.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	link := g.link()
	b.open(link)
	b.until("the page opens", `document.querySelector("#health") !== null`)
	if got := b.text("#sentence"); !strings.HasPrefix(got, "All is well:") {
		t.Errorf("health is %q", got)
	}
	for selector, want := range map[string]string{"#figure-list": "Sessions", "#legend": "free\n10"} {
		if got := b.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, without %q", selector, got, want)
		}
	}
	at := strings.TrimSuffix(link[:strings.Index(link, "/enter")], "/")
	for path, want := range map[string]string{
		"/ring": "www.host1.foo.example.", "/names": g.Clients[0].IP.String(),
		"/sessions": "host1.foo.example.", "/chains": "There are no chains", "/protection": "Nobody is banned.", "/gateway": "eth0", "/edges": "There are no other edges.",
	} {
		b.open(at + path)
		if got := b.text("main"); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, without %s", path, got, want)
		}
	}
	b.quiet("without script")
}

// At an address of the API a token that is typed opens the page; what it may not do is said with what helps; once it is revoked
// the page asks again.
func TestTokenOpensThePage(t *testing.T) {
	t.Parallel()
	g := newGateway(t, `api: {listen: ["127.0.0.1:9470"]}`+"\n")
	secret, err := g.tell("token", "create", "ann", "--role", "read")
	if err != nil {
		t.Fatal(secret)
	}
	lines := strings.Split(strings.TrimSpace(secret), "\n")
	secret = lines[len(lines)-1]
	b := newBrowser(t, g.Gateway.Namespace)
	b.open("http://127.0.0.1:9470/names")
	b.until("it asks for a token", `document.querySelector("#token") !== null`)
	b.forget() // a page that is refused is an error in the console
	b.look("login")
	enter := func(token string) {
		t.Helper()
		b.eval(`document.querySelector("#token").value = `+string(marshal(t, token))+`; document.querySelector("form").submit()`, nil)
	}
	enter("rg_wrong")
	b.until("a wrong one is refused", `document.querySelector("[role=alert]")?.innerText.includes("no such token")`)
	b.forget()
	enter(secret)
	b.until("the page opens", `document.querySelector("#ring svg") !== null`)
	b.quiet("with a token")
	if got := b.text("footer"); !strings.Contains(got, "token ann, role read") {
		t.Errorf("the page says %q", got)
	}
	var said string
	b.eval(`fetch("/v1/bans/add", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"prefixes":["192.0.2.1/32"]}'}).then((r) => r.text())`, &said)
	if !strings.Contains(said, "takes the role operate") {
		t.Errorf("a ban is answered: %s", said)
	}
	b.forget()
	if out, err := g.tell("token", "revoke", "ann"); err != nil {
		t.Fatal(out)
	}
	b.until("it asks again", `document.querySelector("#token") !== null`)
}

// forget forgets what the console has shown.
func (b *browser) forget() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.console = nil
	b.Failures()
}
