package page

import (
	"testing"
)

// press presses keys, one after the other: letters, or the names that browsers have for others.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	codes := map[string]int{"Enter": 13, "ArrowRight": 39, "ArrowLeft": 37, "Tab": 9, "/": 191}
	for _, key := range keys {
		down := map[string]any{"type": "keyDown", "key": key, "windowsVirtualKeyCode": codes[key]}
		if len(key) == 1 {
			down["text"] = key
		} else if key == "Enter" {
			down["text"] = "\r"
		}
		b.do("Input.dispatchKeyEvent", down, nil)
		b.do("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": codes[key]}, nil)
	}
}

// Without a pointer: letters lead to the screens, arrows round the ring, Enter to who has an address.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	g.enter(b)
	for _, c := range []struct{ key, path string }{{"q", "/names"}, {"d", "/drops"}, {"n", "/"}, {"p", "/ring"}} {
		b.press("g", c.key)
		b.until("g "+c.key+" leads to "+c.path, `location.pathname === "`+c.path+`" && document.readyState === "complete"`)
	}
	b.until("the ring is drawn", `document.querySelectorAll("#ring path.use-bound").length === 6`)
	b.press("/")
	b.until("/ leads to the search", `document.activeElement === document.querySelector("input[type=search]")`)
	for _, letter := range "host3" {
		b.press(string(letter))
	}
	b.press("Enter")
	b.until("it finds a host's address", `document.querySelector("#chosen").innerText.includes("www.host3.foo.example.")`)
	b.eval(`document.querySelector("#ring svg").focus()`, nil)
	var from, to string
	b.eval(`document.querySelector("#ring svg").getAttribute("aria-activedescendant")`, &from)
	b.press("ArrowRight", "ArrowRight", "ArrowLeft")
	b.until("arrows go round", `document.querySelector("#ring svg").getAttribute("aria-activedescendant") !== "`+from+`"`)
	b.press("Enter")
	b.eval(`document.getElementById(document.querySelector("#ring svg").getAttribute("aria-activedescendant")).getAttribute("aria-label").split(" ")[0]`, &to)
	b.until("Enter chooses", `new URLSearchParams(location.search).get("at") === "`+to+`" && document.querySelector("#chosen").innerText.includes("`+to+`")`)
	b.quiet("keyboard")
}

// A gateway that cannot be reached is told, and comes back by itself.
func TestPageComesBack(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	b := newBrowser(t, g.Gateway.Namespace)
	g.enter(b)
	b.until("figures are live", `document.querySelector("#figure-list").dataset.live === "yes"`)
	b.quiet("before")
	g.stop()
	b.until("a bar says since when", `!document.querySelector("#lost").hidden && document.querySelector("#lost").innerText.includes("since") && document.body.classList.contains("stale")`)
	g.start()
	b.until("it is back", `document.querySelector("#lost").hidden && !document.body.classList.contains("stale")`)
	b.remember()
	address := g.visit(g.Clients[0], "www.host1.foo.example").String()
	b.until("the ring is alive", `seen.has("`+address+` claimed")`)
	b.forget() // what could not be loaded meanwhile
}
