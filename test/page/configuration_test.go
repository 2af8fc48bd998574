package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a reload changes is seen before it is done; a file that is wrong shows where; a reload puts it into force.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	g.visit(g.Clients[0], "www.host6.foo.example")
	file := filepath.Join(g.directory, "realmgate.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := g.enter(b)
	b.open(at + "/configuration")
	b.shows("#diff-card", "The file is in force")

	lines := strings.Split(strings.TrimSpace(string(before)), "\n")
	write(strings.Join(lines[:len(lines)-1], "\n") + "\n") // without the last host
	b.open(at + "/configuration")
	b.shows("#diff-card", "The file is not in force as it is")
	b.shows("#diff-card", "www.host6.foo.example.")
	b.shows("#diff-card", "− tcp/80")
	b.look("configuration")
	b.quiet("configuration")
	b.focus("#diff-card button.main")
	b.press("Enter")
	b.shows("#said", "Generation 2 is in force, with 5 hosts.")
	b.shows("#diff-card", "The file is in force")

	b.open(at + "/configuration?view=effective")
	b.shows("#effective-card", "reservation_timeout: 2s")
	b.open(at + "/configuration?view=files")
	b.shows("#file-0-card", "host1.foo.example.")

	write(string(before) + "nonsense: 1\n")
	b.open(at + "/configuration")
	b.shows(".health.bad", "realmgate.yaml:")
	b.shows(".health.bad", "nonsense")
	b.forget() // a refusal is an error in the console
}
