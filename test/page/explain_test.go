package page

import (
	"encoding/json"
	"testing"
)

// An explanation names what the command names, in as many steps, and its way through the chains ends where it was dropped.
func TestExplain(t *testing.T) {
	t.Parallel()
	g := newGateway(t, busy)
	b := newBrowser(t, g.Gateway.Namespace)
	refused := g.Clients[1].IP.String()
	var said struct {
		Function, Reason string
		Steps            []struct{ Step, Says string }
	}
	out, err := g.tell("explain", refused, "--to", "www.host1.foo.example", "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &said)
	}
	if err != nil || said.Function != "web/friends" {
		t.Fatalf("realmgate explain: %v: %s", err, out)
	}
	g.enter(b)
	b.screen("e", "/explain")
	b.until("the form is there", `document.querySelector("input[name=address]") !== null`)
	b.press("/")
	b.write(refused)
	b.focus("input[name=to]")
	b.write("www.host1.foo.example")
	b.press("Enter")
	b.shows("#verdict", "would be dropped ("+said.Reason+" by "+said.Function+")")
	var steps []struct{ Step, Says string }
	b.eval(`[...document.querySelectorAll(".steps li")].map((li) => ({Step: li.querySelector("b").innerText, Says: li.querySelector(".tag").innerText}))`, &steps)
	if len(steps) != len(said.Steps) {
		t.Errorf("the page has %d steps, the command %d", len(steps), len(said.Steps))
	}
	for i := range min(len(steps), len(said.Steps)) {
		if steps[i] != said.Steps[i] {
			t.Errorf("step %d is %v, of the command %v", i, steps[i], said.Steps[i])
		}
	}
	b.until("the address holds the question", `location.search === "?address=`+refused+`&to=www.host1.foo.example"`)
	b.focus(`a[href^="/chains"]`)
	b.press("Enter")
	b.shows(".box.stops", "friends")
	b.shows(".box.lit", "Bans")
	reached := 0
	b.eval(`[...document.querySelectorAll(".box.lit")].filter((box) => box.innerText.includes("reached")).length`, &reached)
	if reached != 0 {
		t.Error("a flow that is dropped reaches a host")
	}
	eventually(t, callLimit, "the chain is drawn as thick as its traffic", func() bool {
		g.visit(g.Clients[0], "www.host1.foo.example")
		yes := false
		return b.try(`document.querySelector('[aria-label="Chain web"] .pipe:not(.w0)') !== null && document.querySelector('[aria-label="Chain out"] .pipe:not(.w0)') === null`, &yes) == nil && yes
	})
	b.quiet("explain")
}
