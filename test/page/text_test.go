package page

import (
	"context"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
)

// evil is what a stranger may write wherever strangers write.
const evil = `<script>window.pwned=1</script><img src=x onerror="window.pwned=1">`

// What others write is text on every screen: names, reasons, errors, log lines.
func TestStrangersWriteText(t *testing.T) {
	t.Parallel()
	text := string(marshal(t, evil))
	row := func(fields string) string { return `{"items":[{` + strings.ReplaceAll(fields, "EVIL", text) + `}]}` }
	status := strings.ReplaceAll(`{"health":EVIL,"instance":EVIL,"version":EVIL,"config":EVIL,"started":"2026-11-30T10:00:00Z","warnings":[EVIL,EVIL],"generation":1,
		"sessions":{"used":1,"capacity":2},"mappings":{"used":1,"capacity":2},"half_open":{"used":0,"capacity":1},"pool_addresses":{"used":1,"capacity":2},"pool_services":{"used":1,"capacity":2},
		"dns":{"queries":1,"refused":0},"reasons":[{"reason":"drop_no_binding","packets":3}],"interfaces":[{"name":EVIL,"side":EVIL,"mode":EVIL,"why":EVIL}],"outbound":[],"changed_chains":[{"chain":EVIL,"changes":[EVIL]}],
		"lent":1,"claimed":1,"expired":0}`, "EVIL", text)
	status = strings.Join(strings.Fields(strings.ReplaceAll(status, "\n", " ")), " ")
	f := &fake{answers: map[string]string{
		"/v1/caller":      strings.ReplaceAll(`{"role":"admin","kind":EVIL,"name":EVIL}`, "EVIL", text),
		"/v1/status":      status,
		"/v1/pool/map":    `{"number":0,"ranges":[{"first":"198.18.0.32","count":2}],"states":"cf","offer":2,"rest":60}`,
		"/v1/pool":        row(`"address":"198.18.0.32","service":EVIL,"host":EVIL,"private":"10.0.0.1","ports":[EVIL],"state":"bound","sessions":1,"reservations":0,"claims":0,"rests":0`),
		"/v1/names":       row(`"service":EVIL,"host":EVIL,"address":"198.18.0.32","ports":[],"asked":1,"lent":1,"refused":1,"asker":"192.0.2.1","last":"2026-11-30T10:00:00Z","why":EVIL`),
		"/v1/bans":        row(`"prefix":"192.0.2.1/32","since":"2026-11-30T10:00:00Z","reason":EVIL,"exempt":EVIL`),
		"/v1/lists":       row(`"name":EVIL,"url":EVIL,"error":EVIL,"prefixes":1,"state":EVIL`),
		"/v1/jails":       row(`"name":EVIL,"log":EVIL,"error":EVIL,"state":EVIL`),
		"/v1/events":      row(`"name":EVIL,"error":EVIL`),
		"/v1/events/last": strings.ReplaceAll(`{"items":[{"time":"2026-11-30T10:00:00Z","kind":EVIL,"instance":EVIL,"sequence":7,"error":EVIL}]}`, "EVIL", text),
		"/v1/hosts":       row(`"name":EVIL,"address":"10.0.0.1","open":[],"services":[]`),
		"/v1/sessions":    row(`"protocol":"tcp","private":"10.0.0.1:80","external":"198.18.0.32:80","remote":"192.0.2.1:1","state":"established","origin":"pool","host":EVIL,"name":EVIL,"age":1,"idle":1`),
		"/v1/chains":      row(`"name":EVIL,"match":[{"host":EVIL}],"functions":[{"name":EVIL,"use":EVIL,"priority":1,"seen":1,"accepted":0,"dropped":0,"failed":0,"samples":0,"ns_each":0}],"changes":[EVIL]`),
		"/v1/web":         row(`"host":EVIL,"address":"10.0.0.1"`),
		"/v1/config":      strings.ReplaceAll(`{"generation":1,"files":[{"file":EVIL,"text":EVIL}]}`, "EVIL", text),
	}}
	f.stream = func(_ context.Context, tell func(topic, data string)) {
		tell("status", status)
		for topic, data := range map[string]string{
			"bans":   `{"time":"2026-11-30T10:00:00Z","kind":"ban","instance":EVIL,"sequence":1,"prefixes":["192.0.2.1/32"],"reason":EVIL}`,
			"events": `{"time":"2026-11-30T10:00:00Z","kind":EVIL,"instance":EVIL,"sequence":2,"error":EVIL,"list":EVIL}`,
			"drops":  `{"time":"2026-11-30T10:00:00Z","reason":EVIL,"side":"public","interface":EVIL,"tuple":{"protocol":"tcp","source":"192.0.2.1:1","destination":"198.18.0.32:80"},"length":60,"host":EVIL,"country":EVIL}`,
			"names":  `{"questions":[{"time":"2026-11-30T10:00:00Z","side":"public","transport":"udp","asker":"192.0.2.1","name":EVIL,"type":EVIL,"code":"REFUSED","why":EVIL,"took":0.001},{"time":"2026-11-30T10:00:00Z","side":"public","transport":"udp","asker":"192.0.2.1","name":EVIL,"type":"TXT","code":"NOERROR","answers":[EVIL],"took":0.001}]}`,
		} {
			tell(topic, strings.ReplaceAll(data, "EVIL", text))
		}
	}
	b, at := f.serve(t)
	for _, path := range b.screens() {
		b.open(at + path)
		b.until(path+" is live", `document.body.innerText.includes(`+text+`) && document.querySelector("main").innerText.includes("<script>")`)
		b.settle()
		var found int
		b.eval(`document.querySelectorAll("img[src=x], main script, [onerror]").length + (window.pwned ? 1 : 0)`, &found)
		if found > 0 {
			t.Errorf("%s: what others write is markup", path)
		}
		b.quiet(path)
	}
}

// screens are the paths of the menu.
func (b *browser) screens() (paths []string) {
	b.t.Helper()
	b.eval(`[...document.querySelectorAll("nav a")].map((a) => a.getAttribute("href"))`, &paths)
	if len(paths) == 0 {
		b.t.Fatal("there is no menu")
	}
	return paths
}

// settle waits until what has come is drawn.
func (b *browser) settle() {
	b.t.Helper()
	b.eval(`new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 400))`, nil)
}

// Where dropped packets come from is on the map, and in the table beside it.
func TestCountries(t *testing.T) {
	t.Parallel()
	f := &fake{answers: map[string]string{
		"/v1/caller":   `{"role":"operate","kind":"user","name":"0"}`,
		"/v1/status":   string(marshal(t, api.Status{Health: "All is well.", Warnings: []string{}, Reasons: []api.ReasonCount{{Reason: "drop_denied", Packets: 30}, {Reason: "drop_banned", Packets: 7}}})),
		"/v1/pool/map": `{"number":0,"ranges":[],"states":"","offer":2,"rest":60}`,
	}}
	f.stream = func(_ context.Context, tell func(topic, data string)) {
		tell("status", f.answers["/v1/status"])
		for range 3 {
			for _, country := range []string{"DE", "US", "US", "US", "RU", "SM"} { // one is too small for the map
				tell("drops", `{"time":"2026-11-30T10:00:00Z","reason":"drop_denied","side":"public","interface":"eth0","tuple":{"protocol":"tcp","source":"192.0.2.1:1","destination":"198.18.0.32:80"},"length":60,"country":"`+country+`"}`)
			}
		}
	}
	b, at := f.serve(t)
	b.open(at + "/drops")
	b.until("three countries are on the map", `document.querySelectorAll(".world path[class^=hit]").length === 3`)
	if got := b.text("#countries"); !strings.Contains(got, "United States of America\t9") || !strings.Contains(got, "SM\t3") {
		t.Errorf("the table says %q", got)
	}
	b.look("countries")
	b.open(at + "/drops?reason=drop_banned")
	b.until("what to do is told", `document.querySelector("#reasons details[open]")?.innerText.includes("What to do")`)
	b.quiet("countries")
}
