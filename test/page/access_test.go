package page

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// axe finds what keeps people out who cannot see, or cannot point (axe-core, which only tests have).
var axe = readAxe()

func readAxe() string {
	text, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestAxeIsAsListed(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/LIST")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256([]byte(axe)); !strings.HasPrefix(string(list), hex.EncodeToString(sum[:])+"  axe.min.js  ") {
		t.Error("testdata/axe.min.js is not what LIST says: run tools/vendored.sh")
	}
}

// openToAll wants axe to find nothing serious on the page as it shows now.
func (b *browser) openToAll(where string) {
	b.t.Helper()
	b.quiet(where) // what axe itself leaves in the console is not the page's
	b.eval(axe+`; 0`, nil)
	var found []struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML string }
	}
	b.eval(`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({HTML: n.html.slice(0, 200) + " " + n.failureSummary}))})))`, &found)
	for _, v := range found {
		b.t.Errorf("%s: %s, %s: %s: %v", where, v.Impact, v.ID, v.Help, v.Nodes)
	}
	b.forget()
}
