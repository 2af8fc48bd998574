package e2e

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/realmgate/realmgate/internal/client"
)

// goroutines are those of the daemon, as it says.
func (d *daemon) goroutines() (n int) {
	d.t.Helper()
	_, after, _ := strings.Cut(d.asked("/metrics"), "\ngo_goroutines ")
	if _, err := fmt.Sscan(after, &n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// address is where in the program a function is at work.
var address = regexp.MustCompile(`(?m)^#\t0x[0-9a-f]+\t`)

// stacks are those of the daemon's goroutines, and how many have each.
func (d *daemon) stacks() map[string]int {
	d.t.Helper()
	found := map[string]int{}
	for part := range strings.SplitSeq(d.asked("/v1/goroutines"), "\n\n") {
		head, stack, _ := strings.Cut(part, "#")
		if line := head[strings.LastIndexByte(strings.TrimSpace(head), '\n')+1:]; strings.Contains(line, " @ ") {
			n := 0
			_, _ = fmt.Sscan(line, &n)
			found[address.ReplaceAllString("#"+stack, "")] += n
		}
	}
	return found
}

// stacksBeyond are those that more goroutines have than before.
func (d *daemon) stacksBeyond(before map[string]int) string {
	d.t.Helper()
	var text strings.Builder
	for stack, n := range d.stacks() {
		if n > before[stack] {
			fmt.Fprintf(&text, "%d, before %d:\n%s\n", n, before[stack], stack)
		}
	}
	return text.String()
}

// asked is what the daemon answers at a path.
func (d *daemon) asked(path string) string {
	d.t.Helper()
	a := prober{socket: client.SocketPath(d.instance)}
	defer a.close()
	response, err := a.send([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"))
	if err != nil {
		d.t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}
