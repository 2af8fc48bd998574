package page

import (
	"fmt"
	"net/url"
	"os"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// A machine with nobody behind it has no pool to draw, and all screens work.
func TestSingleMachine(t *testing.T) {
	t.Parallel()
	directory, err := os.MkdirTemp("", "realmgate-page-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	g := &gateway{lab.NewRealm(t, netns.Options{Prefix: "page", Clients: 1}), t, directory, nil}
	g.run(fmt.Sprintf("interfaces: {public: [%s]}\nprotection: {blocklist: [203.0.113.0/24]}\n", g.Gateway.Public[0]))
	link, err := url.Parse(g.link())
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, g.Gateway.Namespace)
	b.open(link.String())
	b.until("figures are live", `document.querySelector("#figure-list").dataset.live === "yes"`)
	for what, want := range map[string]string{
		`[...document.querySelectorAll("main h2")].map((h) => h.innerText).join(", ")`:             "Figures, What happened",
		`[...document.querySelectorAll("#figure-list dt")].map((d) => d.innerText).join(", ")`:     "Bans",
		`[...document.querySelectorAll("nav a")].map((a) => a.innerText).join(", ")`:               "Now, Drops, Chains, Protection, Explain, Configuration, Gateway",
		`[...document.querySelectorAll("#charts a")].map((a) => a.getAttribute("href")).join(" ")`: "/gateway /drops",
	} {
		var got string
		if b.eval(what, &got); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	b.look("single")
	b.quiet("single")
	for _, screen := range []string{"/ring", "/names", "/sessions", "/drops", "/chains", "/protection", "/explain", "/configuration", "/gateway"} {
		b.open("http://" + link.Host + screen)
		b.until(screen+" is there", `document.readyState === "complete" && document.querySelector("main").innerText.trim() !== ""`)
		b.quiet(screen)
	}
}
