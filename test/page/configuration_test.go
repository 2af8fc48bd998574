package page

import (
	"encoding/json"
	"fmt"
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

// A reload that is to be confirmed says how long it waits, and stays once it is; what was before is looked at, and comes back
// after a question.
func TestHistory(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	file := filepath.Join(g.directory, "realmgate.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(before)), "\n")
	if err := os.WriteFile(file, []byte(strings.Join(lines[:len(lines)-1], "\n")+"\n"), 0o600); err != nil { // without the last host
		t.Fatal(err)
	}
	at := g.enter(b)
	b.open(at + "/configuration")
	b.shows("#diff-card", "The file is not in force as it is")
	b.eval(`(() => { const s = document.querySelector("select[name=confirm]"); s.value = "600"; s.dispatchEvent(new Event("change", { bubbles: true })); })()`, nil)
	b.click("#diff-card button.main")
	b.shows("#said", "Generation 2 is in force, with 5 hosts. Confirm it, or it is undone.")
	b.shows("#unconfirmed", "Generation 2 of user 0 is undone in 10 min")
	b.look("configuration-unconfirmed")
	if out, err := g.tell("status"); err != nil || !strings.Contains(out, "realmgate confirm") {
		t.Errorf("nothing is to be confirmed: %v: %s", err, out)
	}
	b.click("#unconfirmed button")
	b.shows("#said", "Generation 2 stays in force.")
	b.until("nothing waits any more", `document.querySelector("#unconfirmed") === null`)
	if out, err := g.tell("confirm"); err == nil {
		t.Errorf("it was not confirmed: %s", out)
	}

	var history []struct{ Number int }
	out, err := g.tell("config", "history", "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &history)
	}
	if err != nil || len(history) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	first, last := history[0].Number, history[len(history)-1].Number
	b.open(at + "/configuration?view=history")
	b.shows("#history-card", "reload, to be confirmed")
	b.until("what is in force cannot come back", fmt.Sprintf(`document.querySelector('[aria-label="Roll back to %d"]') === null`, last))
	b.click(fmt.Sprintf(`[aria-label="Show %d"]`, first))
	b.shows("#past-0-card", "www.host6.foo.example.")
	b.until("the address of the page leads there", fmt.Sprintf(`location.search === "?view=history&number=%d"`, first))
	roll := fmt.Sprintf(`[aria-label="Roll back to %d"]`, first)
	b.click(roll)
	b.shows("#ask", fmt.Sprintf("Roll back to %d?", first))
	b.look("configuration-history")
	b.click("#ask button:not(.main)")
	b.until("it is left", `document.querySelector("#ask") === null`)
	if now, err := os.ReadFile(file); err != nil || string(now) == string(before) {
		t.Errorf("it came back without an answer: %v", err)
	}
	b.click(roll)
	b.click("#ask button.main")
	b.shows("#said", fmt.Sprintf("Generation 3 is in force, with 6 hosts. It is the configuration of %d.", first))
	b.shows("#history-card", fmt.Sprintf("rollback to %d", first))
	if now, err := os.ReadFile(file); err != nil || string(now) != string(before) {
		t.Errorf("the file is not as it was: %v:\n%s", err, now)
	}
	b.quiet("history")
}
