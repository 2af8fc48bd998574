package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Two hosts with the same private address fetch from each other by name, and no private address is seen between (line 1 of
// what edges must show; S4).
func TestDemoEdges(t *testing.T) {
	stdout, stderr, code := tell(t, "demo", "edges")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	for _, want := range []string{
		`hosta 10\.0\.0\.100 -- 10\.0\.0\.1 \| edge a .*\n.*\n.*hostb 10\.0\.0\.100 -- 10\.0\.0\.1 \| edge b`,
		`hosta asks for hostb\.b\.example and gets 172\.31\.`, `hosta opens http://hostb\.b\.example/: "Hello, this is hostb\."`,
		`hostb asks for hosta\.a\.example and gets 172\.31\.`, `hostb opens http://hosta\.a\.example/: "Hello, this is hosta\."`,
		`There 0x[0-9a-f]{8} stands for hosta, and 0x[0-9a-f]{8} for hostb: tags`, `In no octet of any frame is a private address`,
		`\n\nAll 5 steps went as they should in [0-9.]+ seconds\.\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("the output lacks %q:\n%s", want, stdout)
		}
	}
	for line := range strings.Lines(stdout) {
		if len(line) > 80 || strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("%d columns, or blanks at its end: %q", len(line)-1, line)
		}
	}
	nothingLeft(t)
}

// An edge that lets nobody in has its name refused, and the demo fails with that.
func TestAnEdgeThatRefusesFailsTheDemo(t *testing.T) {
	var out bytes.Buffer
	err := RunEdges(t.Context(), EdgesOptions{Out: &out, JSON: true, Executable: program, change: func(letter, configuration string) string {
		if letter == "b" {
			configuration = strings.Replace(configuration, `from: ["*.a.example."]`, `deny: true, from: ["*.a.example."]`, 1)
		}
		return configuration
	}})
	var results []Result
	if unread := json.Unmarshal(out.Bytes(), &results); unread != nil {
		t.Fatalf("no JSON: %v\n%s", unread, out.String())
	}
	last := results[len(results)-1]
	if !errors.Is(err, ErrFailed) || last.Step != 2 || last.OK || !strings.Contains(last.Error, "REFUSED") || len(last.Log) == 0 {
		t.Errorf("%v: it ended with %+v, want step 2 to be refused", err, last)
	}
	nothingLeft(t)
}

func TestAnInterruptOfEdgesCleansUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &trigger{text: "2. hosta fetches", do: cancel}
	err := RunEdges(ctx, EdgesOptions{Out: out, Executable: program})
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(out.written.String(), "Interrupted: cleaning up.\n") {
		t.Errorf("%v\n%s", err, out.written.String())
	}
	nothingLeft(t)
}

// What the demo says of the tunnel is what is in it: a private address anywhere is found.
func TestAPrivateAddressBetweenEdgesIsFound(t *testing.T) {
	private := map[string]netip.Addr{"of a host": netip.MustParseAddr("10.0.0.100")}
	frame := func(payload string) []byte {
		return packets.NewUDP(packets.At("198.18.0.1:50000"), packets.At("198.18.0.65:6081"), payload).Between(packets.MAC{}, packets.MAC{1}).Bytes()
	}
	inside := func(from, to string) string {
		inner := packets.NewUDP(packets.At(from+":1"), packets.At(to+":2"), "x")
		return "\x03\x40\x08\x00\x01\x02\x03\x00" + strings.Repeat("o", 12) + string(inner.Network())
	}
	for what, payload := range map[string]string{"number": inside("10.0.0.100", "203.0.113.1"), "text": "Host: 10.0.0.100"} {
		if err := leaked([][]byte{frame("x"), frame(payload)}, private); err == nil || !strings.Contains(err.Error(), "10.0.0.100, of a host") {
			t.Errorf("a private address as %s: %v", what, err)
		}
	}
	seen := traffic{pairs: map[[2]netip.Addr]int{}}
	seen.add(frame(inside("203.0.113.1", "203.0.113.2")))
	if _, err := tagsOf(seen.pairs); err == nil {
		t.Error("packets of one way alone will do")
	}
	seen.add(frame(inside("203.0.113.2", "203.0.113.1")))
	seen.add(frame("\x03\xc0\x08\x00\x01\x02\x03\x00" + strings.Repeat("p", 40)))
	seen.add(frame(""))
	tags, err := tagsOf(seen.pairs)
	if want := [2]netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")}; err != nil || tags != want {
		t.Errorf("tags %v, %v", tags, err)
	}
	if err := leaked([][]byte{frame(inside("203.0.113.1", "203.0.113.2"))}, private); err != nil {
		t.Error(err)
	}
	if seen.frames != 4 || seen.tunnel != 2 || seen.probes != 1 || seen.other != 1 {
		t.Errorf("counted %+v", seen)
	}
	seen.add(frame(inside("203.0.113.1", "203.0.113.3")))
	if _, err := tagsOf(seen.pairs); err == nil {
		t.Error("a third address in the tunnel will do")
	}
}
