package page

import (
	"strings"
	"testing"
)

// What operators look at shows, in each way of looking, what there is on a real gateway; the last line of a log is text.
func TestOperatorsScreens(t *testing.T) {
	t.Parallel()
	g := newGateway(t, busy)
	b := newBrowser(t, g.Gateway.Namespace)
	base := g.enter(b)
	g.visit(g.Clients[0], "www.host1.foo.example")
	g.visit(g.Clients[0], "www.host2.foo.example")
	if out, err := g.tell("ban", "add", "203.0.113.7", "--for", "1h"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range []struct{ name, path, shows string }{
		{"sessions", "/sessions", `document.querySelectorAll("#each-card tbody tr").length > 0`},
		{"sessions-address", "/sessions?address=198.18.0.128", `document.querySelector("#about-card li") !== null`},
		{"protection", "/protection?address=203.0.113.7", `document.querySelector("#why") !== null`},
		{"explain", "/explain?address=198.18.0.129&to=www.host1.foo.example", `document.querySelector("#verdict") !== null`},
		{"explain-all", "/explain?address=198.18.0.129", `document.querySelector("#verdict") !== null`},
		{"chains", "/chains?address=198.18.0.129&to=www.host1.foo.example", `document.querySelector("#verdict") !== null`},
		{"configuration", "/configuration", `document.querySelector("#diff-card") !== null`},
		{"configuration-effective", "/configuration?view=effective", `document.querySelector("#effective-card pre") !== null`},
		{"gateway", "/gateway", `document.querySelector("#clock") !== null`},
	} {
		b.open(base + s.path)
		b.until(s.name+" is shown", s.shows)
		b.look(s.name)
		b.quiet(s.name)
		if s.name == "protection" && !strings.Contains(b.text("#jails-card"), "<script>window.pwned=1</script>") {
			t.Errorf("the last line of the log is not shown:\n%s", b.text("#jails-card"))
		}
	}
}
