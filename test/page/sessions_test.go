package page

import (
	"fmt"
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
