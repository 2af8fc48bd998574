package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestAnswers(t *testing.T) {
	g := &fakeGateway{
		sessions: []Session{session(1), session(2)},
		pool:     []Binding{{Service: "www.example."}},
		hosts:    []Host{{Name: "a.example."}},
	}
	for target, want := range map[string]string{
		"GET /v1/status":   `"interfaces":[]`,
		"GET /v1/sessions": "\"private\":\"10.0.0.1:2\",",
		"GET /v1/pool":     `"service":"www.example."`,
		"GET /v1/hosts":    `"open":[],"services":[]`,
		"POST /v1/reload":  `{"generation":7,"hosts":2}`,

		"GET /v1/config":        `"text":"a: 1\n"`,
		"GET /v1/config/diff":   `"differences":[],"services":[],"restart":[]`,
		"POST /v1/handover":     `{"sessions":2}`,
		"POST /v1/sessions/end": `{"sessions":2}`,
	} {
		method, path, _ := strings.Cut(target, " ")
		if w := ask(t, g, method, path); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", target, w.Code, w.Body, want)
		}
	}
}

func TestEmptyListsAreLists(t *testing.T) {
	const none = `{"items":[]}` + "\n"
	for path, want := range map[string]string{"/v1/sessions": none, "/v1/pool": none, "/v1/hosts": none, "/v1/jails": none, "/v1/events": none, "/v1/lists": none, "/v1/names": none} {
		if w := ask(t, &fakeGateway{}, http.MethodGet, path); w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: %d %q, want %q", path, w.Code, w.Body, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for target, want := range map[string]string{
		"GET /":                                    `404 there is no / in version devel: see /v1/openapi.json`,
		"GET /v1/sessions/":                        `404 there is no /v1/sessions/ in version devel: see /v1/openapi.json`,
		"POST /v1/status":                          `405 /v1/status is asked by GET, not by POST`,
		"GET /v1/sessions/end":                     `405 /v1/sessions/end is asked by POST, not by GET`,
		"POST /v1/sessions/end?hosts=a":            `400 unknown filter "hosts": use address, host, port, protocol`,
		"GET /v1/lists?port=1":                     `400 unknown parameter "port": none is taken here`,
		"GET /v1/lists/refresh":                    `405 /v1/lists/refresh is asked by POST, not by GET`,
		"POST /v1/lists/refresh":                   `400 read the request: EOF`,
		"GET /v1/reload":                           `405 /v1/reload is asked by POST, not by GET`,
		"GET /v1/handover":                         `405 /v1/handover is asked by POST, not by GET`,
		"POST /v1/handover?now":                    `400 unknown parameter "now": none is taken here`,
		"GET /v1/status?port=1":                    `400 unknown parameter "port": none is taken here`,
		"POST /v1/reload?now":                      `400 unknown parameter "now": none is taken here`,
		"GET /v1/pool?colour=red":                  `400 unknown filter "colour": use address, host, port, protocol`,
		"GET /v1/hosts?port=1&port=2":              `400 filter "port" is given 2 times`,
		"GET /v1/drops?port=65536":                 `400 "65536" is not a port: use 1 to 65535`,
		"GET /v1/capture":                          `400 the parameter chain is missing`,
		"GET /v1/capture?chain=a&chain=b":          `400 parameter "chain" is given 2 times`,
		"GET /v1/capture?chain=a&snap=0":           `400 snap "0": use 1 to 65535 bytes`,
		"GET /v1/capture?chain=a&snap=1e3":         `400 snap "1e3": use 1 to 65535 bytes`,
		"GET /v1/capture/drops?snap=1":             `400 unknown parameter "snap": none is taken here`,
		"GET /v1/capture?chain=a&port=80":          `400 unknown parameter "port": use chain, function, snap`,
		"GET /v1/sessions?port=0":                  `400 "0" is not a port: use 1 to 65535`,
		"GET /v1/sessions?port=-1":                 `400 "-1" is not a port: use 1 to 65535`,
		"GET /v1/sessions?address=10.0.0.256":      `400 "10.0.0.256" is not an IP address`,
		"GET /v1/sessions?protocol=ah":             `400 unknown protocol "ah": use tcp, udp, icmp, ipip, dccp, 6in4, gre, esp, sctp, udplite or any`,
		"GET /v1/sessions?host=a..b":               `400 name "a..b" has a label that is not 1 to 63 octets long`,
		"GET /v1/sessions?%zz":                     `400 read the query: invalid URL escape "%zz"`,
		"GET /v1/sessions?a=1;b=2":                 `400 read the query: invalid semicolon separator in query`,
		"DELETE /v1/sessions?address=192.168.0.01": `405 /v1/sessions is asked by GET, not by DELETE`,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := ask(t, &fakeGateway{}, method, path)
		if got := refusal(t, w); got != want {
			t.Errorf("%s:\n got %s\nwant %s", target, got, want)
		}
	}
}

// refusal is the status of a problem, and what it says and advises.
func refusal(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Header().Get("Content-Type") != "application/problem+json" || p.Status != w.Code || p.Title == "" {
		t.Errorf("no problem: %v, %s %q, %+v", err, w.Header(), w.Body, p)
	}
	text := fmt.Sprint(w.Code, " ", p.Detail)
	if p.Remedy != "" {
		text += ": " + p.Remedy
	}
	return text
}

// A request that cannot be meant is refused before the gateway sees it.
func TestChainRequests(t *testing.T) {
	const a, f = `{"chain":"web","function":"f"`, `{"generation":8,"chain":"web","functions":["f"]}`
	for target, want := range map[string]string{
		"insert " + a + `}`:                          "200 " + f,
		"insert " + a + `,"priority":0}`:             "200 " + f,
		"insert " + a + `,"priority":0,"after":"b"}`: `400 a function has one place: give one of before, after and priority`,
		"insert " + a + `,"prio":0}`:                 `400 read the request: json: unknown field "prio"`,
		"insert ":                                    `400 read the request: EOF`,
		"insert?now=1 " + a + `}`:                    `400 unknown parameter "now": none is taken here`,
		"move " + a + `,"before":"b"}`:               "200 " + f,
		"move " + a + `}`:                            `400 say where to: by before, after or priority`,
		"move " + a + `,"before":"b","after":"b"}`:   `400 a function has one place: give one of before, after and priority`,
		"remove " + a + `}`:                          `200 {"generation":8,"chain":"web","functions":[]}`,
		"remove " + a + `,"after":"b"}`:              `400 what is removed has no place: leave before, after and priority out`,
		"save ":                                      `200 {"config":"a.yaml","chains":["web"]}`,
		"save?now=1 ":                                `400 unknown parameter "now": none is taken here`,
	} {
		path, body, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		handlerOf(&fakeGateway{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chains/"+path, strings.NewReader(body)))
		got := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
		if w.Code != http.StatusOK {
			got = refusal(t, w)
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", target, got, want)
		}
	}
}

func TestGatewayErrors(t *testing.T) {
	g := &fakeGateway{err: errors.New("a.yaml:3: no\na.yaml:9: never")}
	for target, status := range map[string]int{
		"GET /v1/status": 500, "GET /v1/sessions": 500, "GET /v1/pool": 500, "GET /v1/hosts": 500, "POST /v1/reload": 422, "POST /v1/chains/save": 422,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := ask(t, g, method, path)
		if got, want := refusal(t, w), fmt.Sprint(status, " a.yaml:3: no\na.yaml:9: never"); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
}

// What is refused for a reason that has a status of its own is refused with that.
func TestRefusalKeepsItsStatus(t *testing.T) {
	g := &fakeGateway{err: fmt.Errorf("hand over: %w", Fail(http.StatusConflict, WithRemedy(errBroken, "repair it")))}
	for _, target := range []string{"POST /v1/handover", "POST /v1/reload", "GET /v1/config"} {
		method, path, _ := strings.Cut(target, " ")
		w := ask(t, g, method, path)
		if got := refusal(t, w); got != "409 hand over: the table cannot be read: repair it" {
			t.Errorf("%s: %s", target, got)
		}
	}
}

// Who ends sessions learns how many ended before it failed.
func TestEndingFailsInTheMiddle(t *testing.T) {
	w := ask(t, &fakeGateway{err: errBroken, sessions: []Session{session(1)}}, http.MethodPost, "/v1/sessions/end")
	if got := refusal(t, w); got != "500 1 sessions were ended, and then: the table cannot be read" {
		t.Error(got)
	}
}

func TestFilterReachesGateway(t *testing.T) {
	want := Filter{Address: netip.MustParseAddr("198.18.0.33"), Port: 80, Protocol: model.TCP, Host: "www.a.example."}
	for _, path := range []string{"/v1/sessions", "/v1/pool", "/v1/hosts", "/v1/names", "/v1/drops"} {
		g := &fakeGateway{drop: func(context.Context, func(Drop) bool) error { return nil }}
		ask(t, g, http.MethodGet, path+"?address=::ffff:198.18.0.33&port=80&protocol=TCP&host=WWW.a.Example")
		if g.filter != want {
			t.Errorf("%s: got %+v", path, g.filter)
		}
		if path == "/v1/sessions" {
			g.filter = Filter{}
			ask(t, g, http.MethodPost, "/v1/sessions/end?address=198.18.0.33&port=80&protocol=tcp&host=www.a.example.")
			if g.filter != want {
				t.Errorf("ending: got %+v", g.filter)
			}
		}
		again, err := ParseFilter(want.Query())
		if err != nil || again != want {
			t.Errorf("Query and ParseFilter: %+v, %v", again, err)
		}
	}
}

// Sessions that fit no buffer are sent while the walk goes on, and an error then
// is the last line.
func TestSessionsFailInTheMiddle(t *testing.T) {
	g := &fakeGateway{err: errBroken}
	for i := range 1000 {
		g.sessions = append(g.sessions, session(i+1))
	}
	w := askLines(t, g, "/v1/sessions")
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if w.Code != http.StatusOK || len(lines) != 1001 || lines[1000] != failedLine("the table cannot be read") {
		t.Errorf("%d, %d lines, the last %q", w.Code, len(lines), lines[len(lines)-1])
	}
}

func TestSessionThatIsNoJSON(t *testing.T) {
	bad := session(2)
	bad.Age = math.NaN()
	w := askLines(t, &fakeGateway{sessions: []Session{session(1), bad, session(3)}}, "/v1/sessions")
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "NaN") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client that takes less than the gateway drops loses drops, and the gateway
// never waits for it.
func TestDropsNeverWait(t *testing.T) {
	const flood = 10 * dropQueue
	visited := 0
	g := &fakeGateway{drop: func(_ context.Context, visit func(Drop) bool) error {
		for range flood {
			visit(Drop{Reason: "drop_filtered"})
			visited++
		}
		return errBroken
	}}
	w := &stuckWriter{header: http.Header{}, free: make(chan struct{})}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/drops", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	drop := g.drop
	g.drop = func(ctx context.Context, visit func(Drop) bool) error {
		err := drop(ctx, visit)
		close(w.free) // only now is anything taken
		return err
	}
	handlerOf(g).ServeHTTP(w, r)
	lines := strings.Split(strings.TrimSpace(w.text.String()), "\n")
	if last := lines[len(lines)-1]; last != failedLine("listen for drops: the table cannot be read") {
		t.Errorf("last line %q", last)
	}
	// The writer may hold a buffer's worth besides the queue.
	if visited != flood || len(lines) < dropQueue || len(lines) > 2*dropQueue {
		t.Errorf("%d visited, %d lines", visited, len(lines))
	}
}

// stuckWriter takes nothing but the headers before free is closed.
type stuckWriter struct {
	header http.Header
	free   chan struct{}
	text   strings.Builder
}

func (w *stuckWriter) Header() http.Header { return w.header }
func (w *stuckWriter) WriteHeader(int)     {}
func (w *stuckWriter) Write(p []byte) (int, error) {
	if len(p) > 0 {
		<-w.free
	}
	return w.text.Write(p)
}
