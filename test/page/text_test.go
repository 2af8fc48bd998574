package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// evil is what a stranger may write wherever strangers write.
const evil = `<script>window.pwned=1</script><img src=x onerror="window.pwned=1">`

// evilEvent is an event all of whose texts are evil, those that no kind has too.
var evilEvent = strings.ReplaceAll(`{"time":"2026-11-30T10:00:00Z","kind":EVIL,"instance":EVIL,"sequence":1,"prefixes":["192.0.2.1/32"],"reason":EVIL,"error":EVIL,EVIL:EVIL}`, "EVIL", strconv.Quote(evil))

// valid are values of types that are no free text.
var valid = []any{
	json.RawMessage(evilEvent),
	time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), netip.MustParseAddr("203.0.113.7"), netip.MustParseAddrPort("203.0.113.7:80"),
	netip.MustParsePrefix("203.0.113.7/32"), model.TCP, model.Port{Protocol: model.TCP, Port: 80, To: 8080}, api.Admin,
}

// fill puts evil into all texts of a value, an entry into its lists, and something valid into what is no text.
func fill(v reflect.Value) {
	for _, value := range valid {
		if reflect.TypeOf(value) == v.Type() {
			v.Set(reflect.ValueOf(value))
			return
		}
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

// filled is a value of a type, as JSON, all of whose texts are evil.
func filled(t *testing.T, example any) string {
	t.Helper()
	value := reflect.New(reflect.TypeOf(example))
	fill(value.Elem())
	return string(marshal(t, value.Interface()))
}

// evilAnswers are what a gateway answers where strangers wrote all that it has to tell.
func evilAnswers(t *testing.T) map[string]string {
	t.Helper()
	answers := map[string]string{}
	for _, route := range api.Routes() {
		if route.Answer == nil || route.Method != http.MethodGet {
			continue
		}
		answers[route.Path] = filled(t, route.Answer)
		if route.Form == api.Rows {
			answers[route.Path] = `{"items":[` + answers[route.Path] + `]}`
		}
	}
	answers["/v1/pool/map"] = `{"number":0,"ranges":[{"first":"198.18.0.32","count":2}],"states":"cf","offer":2,"rest":60}`
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(evil)
	answers["/metrics"] = `realmgate_nexthop_up{gateway="` + label + `"} 0` + "\n" + `realmgate_table_entries{table="` + label + `"} 1` + "\n"
	return answers
}

// What others write is text on every screen: names, reasons, errors, log lines.
func TestStrangersWriteText(t *testing.T) {
	t.Parallel()
	text := string(marshal(t, evil))
	f := &fake{answers: evilAnswers(t)}
	f.stream = func(_ context.Context, tell func(topic, data string)) {
		tell("status", f.answers["/v1/status"])
		for topic, data := range map[string]string{
			"bans": evilEvent, "events": evilEvent, "drops": filled(t, api.Drop{}), "names": filled(t, api.NamesTold{}),
		} {
			tell(topic, data)
		}
	}
	b, at := f.serve(t)
	asked := map[string][]string{ // of some, what is there to be seen only when it is asked for
		"/sessions":      {"", "?address=203.0.113.7"},
		"/protection":    {"", "?address=203.0.113.7", "?address=%3Cscript%3E"},
		"/explain":       {"?address=203.0.113.7&to=%3Cscript%3E"},
		"/chains":        {"", "?address=203.0.113.7&to=www.example", "?chain=%3Cscript%3E"},
		"/configuration": {"", "?view=effective", "?view=files"},
	}
	for _, screen := range b.screens() {
		questions := asked[screen]
		if questions == nil {
			questions = []string{""}
		}
		for _, question := range questions {
			path := screen + question
			b.open(at + path)
			b.until(path+" is live", `document.body.innerText.includes(`+text+`) && document.querySelector("main").innerText.includes("<script>")`)
			b.settle()
			var found int
			b.eval(`document.querySelectorAll("img[src=x], main script, [onerror]").length + (window.pwned ? 1 : 0)`, &found)
			if found > 0 {
				t.Errorf("%s: what others write is markup", path)
			}
			b.look("text" + strings.ReplaceAll(screen, "/", "-"))
			b.quiet(path)
		}
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
