package page

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Links to other edges are a map: each is up or down, and leads to its pacts.
func TestEdges(t *testing.T) {
	t.Parallel()
	f := still(t)
	f.answers["/v1/edges"] = `{"items":[
{"name":"edge.b.example.","zones":["b.example."],"state":"up","since":"2026-11-30T10:00:00Z","address":"203.0.113.9","rtt_ms":12.5,"mtu":1452,"pacts":120},
{"name":"edge.c.example.","zones":["c.example.","d.example."],"state":"down","address":"203.0.113.17","pacts":1,"error":"the key is not the pinned one"}]}`
	f.answers["/v1/pacts"] = `{"items":[
{"tag":"0x672c0001","edge":"edge.b.example.","host":"10.0.0.100","local":"hosta.a.example.","remote":"www.b.example.","proxy":"172.31.140.9","direction":"out","services":["tcp/80:8080"],"vouched":"pinned","opened":"2026-11-30T10:00:00Z","used":"2026-11-30T10:00:01Z","until":"2026-11-30T11:00:00Z"},
{"tag":"0x672c0002","edge":"edge.c.example.","host":"10.0.0.101","local":"hostb.a.example.","remote":"www.c.example.","proxy":"172.31.7.7","direction":"both","services":["all"],"vouched":"pinned","opened":"2026-11-30T10:00:00Z","used":"2026-11-30T10:00:01Z","until":"2026-11-30T11:00:00Z"}]}`
	f.stream = func(_ context.Context, tell func(topic, data string)) { tell("status", f.answers["/v1/status"]) }
	b, at := f.serve(t)
	b.open(at + "/edges")
	b.until("both links are drawn, one of them up", `document.querySelectorAll(".links line").length === 2 && document.querySelectorAll(".links line.up").length === 1`)
	b.until("the one of more pacts is thicker", `Number(document.querySelector(".links line.up").getAttribute("stroke-width")) > Number(document.querySelector(".links line.down").getAttribute("stroke-width"))`)
	if got := b.text("#links-card"); !strings.Contains(got, "the key is not the pinned one") || !strings.Contains(got, "1,452") {
		t.Errorf("the links are %q", got)
	}
	if got := b.text("#pacts-card"); !strings.Contains(got, "172.31.140.9") || !strings.Contains(got, "172.31.7.7") {
		t.Errorf("the pacts are %q", got)
	}
	b.look("edges")
	b.eval(`document.querySelector('.links a[aria-label^="edge.c.example. is down, 1 pact"]').dispatchEvent(new MouseEvent("click", {bubbles: true}))`, nil)
	b.until("its pacts alone are shown", `document.querySelector("#pacts-card")?.innerText.includes("172.31.7.7") && !document.querySelector("#pacts-card").innerText.includes("172.31.140.9")`)
	if got := b.text("#pacts-card h2"); got != "Pacts with edge.c.example." {
		t.Errorf("the heading is %q", got)
	}
	b.quiet("edges")
	all := `{"name":"edge.c.example.","zones":["c.example."],"state":"up","pacts":1}`
	for i := range 30 {
		all += fmt.Sprintf(`,{"name":"edge.of-a-long-name-%d.example.","zones":[],"state":"up","pacts":%d}`, i, i*i)
	}
	f.answers["/v1/edges"] = `{"items":[` + all + `]}`
	b.open(at + "/edges")
	b.until("those with most pacts are drawn", `document.querySelectorAll(".links line").length === 24 && document.querySelector(".links a[aria-label*='-29.example. is up, 841 pacts']") !== null`)
	b.until("and it says so", `document.querySelector("#links-card").innerText.includes("the 24 with most pacts, of 31")`)
	b.look("many-edges")
	b.quiet("many edges")
}

// Where there are none, it says so.
func TestNoEdges(t *testing.T) {
	t.Parallel()
	f := still(t)
	f.stream = func(_ context.Context, tell func(topic, data string)) { tell("status", f.answers["/v1/status"]) }
	b, at := f.serve(t)
	b.open(at + "/edges")
	b.until("it says that there are none", `document.querySelector("#links-card")?.innerText.includes("edges.peers")`)
	b.look("no-edges")
	b.quiet("no edges")
}
