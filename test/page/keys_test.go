package page

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// screen goes to a screen by g and its letter.
func (b *browser) screen(letter, path string) {
	b.t.Helper()
	b.press("g", letter)
	b.until("the keyboard leads to "+path, fmt.Sprintf(`location.pathname === %q && document.readyState === "complete"`, path))
}

// focus presses Tab until an element has the focus.
func (b *browser) focus(selector string) {
	b.t.Helper()
	for range 200 {
		there := false
		b.eval(fmt.Sprintf(`document.activeElement?.matches(%q) ?? false`, selector), &there)
		if there {
			return
		}
		b.press("Tab")
	}
	b.t.Fatalf("Tab does not lead to %s", selector)
}

// write writes into what has the focus.
func (b *browser) write(text string) {
	b.t.Helper()
	b.do("Input.insertText", map[string]any{"text": text}, nil)
}

// click clicks on an element as soon as it is there and stays where it is, as people do.
func (b *browser) click(selector string) {
	b.t.Helper()
	place := fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getClientRects()[0]; return {X: r.x + r.width / 2, Y: r.y + r.height / 2} })()`, selector)
	var at, before struct{ X, Y float64 }
	eventually(b.t, callLimit, selector+" stays where it is", func() bool {
		before = at
		return b.try(place, &at) == nil && at == before
	})
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// shows waits until a part of the page shows some text.
func (b *browser) shows(selector, text string) {
	b.t.Helper()
	b.until(selector+" shows "+text, fmt.Sprintf(`document.querySelector(%q)?.innerText.includes(%q) ?? false`, selector, text))
}

// reaches reports whether a client gets an answer of an address within two seconds.
func reaches(from netns.Node, address string) bool {
	return from.Command(context.Background(), "curl", "-sS", "--max-time", "2", "http://"+address+"/").Run() == nil
}

// connection is one that stays open.
type connection struct{ net.Conn }

// connect has a client ask for a name, and open a connection that stays.
func (g *gateway) connect(from netns.Node, name string) (c connection) {
	g.t.Helper()
	eventually(g.t, callLimit, name+" is reached", func() bool {
		conn, err := from.DialContext(g.t.Context(), "tcp", g.ask(from, name).String()+":80")
		c.Conn = conn
		return err == nil
	})
	g.t.Cleanup(func() { _ = c.Close() })
	c.send()
	return c
}

// send asks for a page, whose answer nobody waits for.
func (c connection) send() { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: host\r\n\r\n") }
