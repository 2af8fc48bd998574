package page

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A session is ended by the page, alone; its packets are captured into a file that tcpdump reads.
func TestSessions(t *testing.T) {
	t.Parallel()
	g := newGateway(t, busy)
	b := newBrowser(t, g.Gateway.Namespace)
	address := g.visit(g.Clients[0], "www.host1.foo.example").String()
	g.visit(g.Clients[0], "www.host2.foo.example")
	count := func(host string) int {
		out, err := g.tell("sessions", "--host", host, "-o", "json")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Count(out, `"private"`)
	}
	if n1, n2 := count("host1.foo.example"), count("host2.foo.example"); n1 == 0 || n2 == 0 {
		t.Fatalf("there are %d and %d sessions", n1, n2)
	}

	at := g.enter(b)
	b.open(at + "/sessions")
	b.shows("#by-host-card", "host1.foo.example.")
	b.shows("#by-name-card", "www.host2.foo.example.")
	b.shows("#by-state-card", "fin")
	b.click(`#by-host-card a[href*="host1"]`)
	b.until("the address has the filter", `location.search.includes("host=host1.foo.example.")`)
	b.until("only its sessions are listed", `[...document.querySelectorAll("#each-card tbody tr")].length > 0 && [...document.querySelectorAll("#each-card tbody tr")].every((r) => r.innerText.includes("host1"))`)

	downloads := t.TempDir()
	b.do("Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": downloads}, nil)
	listening := g.connect(g.Clients[0], "www.host1.foo.example")
	b.until("the open session is listed", `[...document.querySelectorAll("#each-card tbody tr")].some((r) => r.innerText.includes("established"))`)
	row := `[...document.querySelectorAll("#each-card tbody tr")].find((r) => r.innerText.includes("established"))`
	b.eval(`[...`+row+`.querySelectorAll("button")].find((x) => x.innerText === "Capture").click()`, nil)
	b.shows("#capture-card", "0 packets so far")
	eventually(t, callLimit, "packets are captured", func() bool {
		listening.send()
		yes := false
		return b.try(`Number(document.querySelector("#capture-card").innerText.match(/(\d+) packets/)[1]) >= 4`, &yes) == nil && yes
	})
	b.eval(`[...document.querySelectorAll("#capture-card button")].find((x) => x.innerText === "Save").click()`, nil)
	file := filepath.Join(downloads, "session.pcap")
	eventually(t, callLimit, "the capture is saved", func() bool { info, err := os.Stat(file); return err == nil && info.Size() > 24 })
	out, err := exec.CommandContext(t.Context(), "tcpdump", "-n", "-r", file, "tcp").Output()
	if err != nil || !strings.Contains(string(out), g.Clients[0].IP.String()) || !strings.Contains(string(out), address) {
		t.Errorf("tcpdump reads %q: %v", out, err)
	}

	b.eval(`[...`+row+`.querySelectorAll("button")].find((x) => x.innerText === "End").click()`, nil)
	b.shows("#said", "The session is ended.")
	b.until("it is gone", `![...document.querySelectorAll("#each-card tbody tr")].some((r) => r.innerText.includes("established"))`)
	if n := count("host2.foo.example"); n == 0 {
		t.Error("the other host's session is ended, too")
	}
	b.open(at + fmt.Sprintf("/sessions?address=%s", address))
	b.shows("#about-card", "holds it")
	b.quiet("sessions")
}

// A session that began at its private end is explained and ended as that, also where the gateway itself began it.
func TestSessionsOfTheGateway(t *testing.T) {
	t.Parallel()
	f := still(t)
	f.stream = func(_ context.Context, tell func(topic, data string)) { tell("status", f.answers["/v1/status"]) }
	items := ""
	for i, origin := range []string{"inside", "own", "basic", "pool"} {
		items += fmt.Sprintf(`,{"protocol":"tcp","private":"10.0.0.%d:50%d","external":"192.0.2.1:60%d","remote":"203.0.113.7:443","origin":"%s","state":"established"}`, i, i, i, origin)
	}
	f.answers["/v1/sessions"] = `{"items":[` + items[1:] + `]}`
	ended := make(chan string, 4)
	f.first = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/sessions/end" {
			ended <- r.URL.Query().Get("address") + " " + r.URL.Query().Get("port")
		}
		return false
	}
	b, at := f.serve(t)
	b.open(at + "/sessions")
	for i, origin := range []string{"inside", "own", "basic", "pool"} {
		row := fmt.Sprintf(`[...document.querySelectorAll("#each-card tbody tr")].find((r) => r.innerText.includes("10.0.0.%d"))`, i)
		b.until(origin+" is listed", row+` !== undefined`)
		from, to := fmt.Sprintf("10.0.0.%d", i), "203.0.113.7"
		port := fmt.Sprintf("50%d", i)
		if origin == "pool" {
			from, to, port = to, "192.0.2.1", "443"
		}
		var href string
		b.eval(row+`.querySelector('a[href^="/explain"]').search`, &href)
		if got, err := url.ParseQuery(strings.TrimPrefix(href, "?")); err != nil || got.Get("address") != from || got.Get("to") != to {
			t.Errorf("%s: it is explained by %s, want from %s to %s", origin, href, from, to)
		}
		b.eval(`[...`+row+`.querySelectorAll("button")].find((x) => x.innerText === "End").click()`, nil)
		if got := <-ended; got != from+" "+port {
			t.Errorf("%s: what ends is of %s, want %s %s", origin, got, from, port)
		}
	}
}
