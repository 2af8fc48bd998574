package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// never is a generation that none is, so that what would change the configuration is read to its end and refused.
const never = `"4294967295"`

// Whatever is asked of the control API by whom it trusts with all, nothing breaks, nothing of it goes on, and what is refused has
// changed nothing. Requests are made of the table of routes, and most of them are nearly right.
func TestFuzzedRequests(t *testing.T) {
	t.Parallel()
	requests := 10_000
	if lab.Lengthy() {
		requests = 1_000_000
	}
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	d := r.start(r.configuration())
	socket := client.SocketPath(d.instance)
	seed := [2]uint64{rand.Uint64(), rand.Uint64()} //nolint:gosec // told below
	t.Logf("again: seed %v", seed)
	made := &fuzzer{routes: api.Routes(), random: rand.New(rand.NewPCG(seed[0], seed[1]))} //nolint:gosec // chance that can be had again
	before := prober{socket: socket, answers: &[6]atomic.Int64{}}
	for range 500 { // what is made when it is first asked for stays
		before.ask(t, made.request())
	}
	before.close()
	generation, goroutines, stacks := d.status().Generation, d.goroutines(), d.stacks()
	files, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	var answers [6]atomic.Int64 // by the first digit; none is 0
	lines := make(chan []byte, 64)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			a := prober{socket: socket, answers: &answers}
			defer a.close()
			for line := range lines {
				a.ask(t, line)
			}
		})
	}
	began := time.Now()
	for range requests {
		lines <- made.request()
	}
	close(lines)
	asking.Wait()
	t.Logf("%d requests in %s: 2xx %d, 4xx %d, 5xx %d, closed without an answer %d", requests, time.Since(began).Round(time.Second),
		answers[2].Load(), answers[4].Load(), answers[5].Load(), answers[0].Load())
	for class, least := range map[int]int64{2: int64(requests) / 20, 4: int64(requests) / 4} {
		if n := answers[class].Load(); n < least {
			t.Errorf("%d answers are %dxx: what was asked shows little", n, class)
		}
	}
	if text := d.logged(); strings.Contains(text, "panic") {
		t.Errorf("it panicked: %s", text[max(0, strings.Index(text, "panic")-200):][:min(4000, len(text))])
	}
	left := d.goroutines()
	for end := time.Now().Add(time.Minute); left > goroutines && time.Now().Before(end); left = d.goroutines() {
		time.Sleep(time.Second)
	}
	t.Logf("%d goroutines before, %d after", goroutines, left)
	if left > goroutines {
		t.Errorf("%d goroutines are left, before there were %d:\n%s", left, goroutines, d.stacksBeyond(stacks))
	}
	now, err := os.ReadFile(d.config)
	if s := d.status(); err != nil || s.Generation != generation || s.Unconfirmed != nil || string(now) != string(files) {
		t.Errorf("generation %d after %d, %+v, %v; the file:\n%s", s.Generation, generation, s.Unconfirmed, err, now)
	}
	var bans []string
	for _, b := range list[[]client.Ban](d, "ban", "list") {
		bans = append(bans, b.Prefix.String())
	}
	if len(bans) > 0 {
		if out, err := d.tell(append([]string{"ban", "remove"}, bans...)...); err != nil {
			t.Error(out)
		}
	}
	r.mustReach(r.Clients[0], 0)
}

// prober asks by one connection until it ends.
type prober struct {
	socket     string
	answers    *[6]atomic.Int64
	connection net.Conn
	read       *bufio.Reader
}

func (a *prober) close() {
	if a.connection != nil {
		_ = a.connection.Close()
		a.connection = nil
	}
}

func (a *prober) send(text []byte) (*http.Response, error) {
	if a.connection == nil {
		c, err := net.Dial("unix", a.socket)
		if err != nil {
			return nil, err
		}
		a.connection, a.read = c, bufio.NewReader(c)
	}
	patience := 30 * time.Second
	if !complete(text) {
		patience = 50 * time.Millisecond // it waits for the rest
	}
	_ = a.connection.SetDeadline(time.Now().Add(patience))
	if _, err := a.connection.Write(text); err != nil {
		return nil, err
	}
	asked := &http.Request{Method: http.MethodGet}
	if bytes.HasPrefix(text, []byte(http.MethodHead)) { // which is answered without a body
		asked.Method = http.MethodHead
	}
	return http.ReadResponse(a.read, asked)
}

// ask sends a request, and counts the answer. What goes on without an end is left in its middle.
func (a *prober) ask(t *testing.T, text []byte) {
	response, err := a.send(text)
	if err != nil {
		a.close()
		a.answers[0].Add(1)
		if errors.Is(err, os.ErrDeadlineExceeded) && complete(text) {
			t.Errorf("no answer to %.1000q", text)
		}
		return
	}
	a.answers[min(response.StatusCode/100, 5)].Add(1)
	// Of these one tells that the gateway is not ready, and two what HTTP it does not speak.
	if of := []int{http.StatusServiceUnavailable, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported}; response.StatusCode >= 500 && !slices.Contains(of, response.StatusCode) {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		t.Errorf("%d %s to %.1000q", response.StatusCode, body, text)
	}
	if response.Close || response.ContentLength < 0 {
		a.close()
		return
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 16<<20)); err != nil {
		a.close()
	}
}

// complete reports whether a request has all that it says it has: the gateway may wait for the rest.
func complete(text []byte) bool {
	request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(text))))
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err == nil
}

// fuzzer makes requests.
type fuzzer struct {
	routes []api.Route
	random *rand.Rand
}

func (f *fuzzer) seldom(n int) bool { return f.random.IntN(n) == 0 }

func pick[T any](f *fuzzer, of ...T) T { return of[f.random.IntN(len(of))] }

// request is the text of one.
func (f *fuzzer) request() []byte {
	route := pick(f, f.routes...)
	method, path, query, body := route.Method, route.Path, f.query(route), ""
	if route.Body != nil || f.seldom(10) {
		text, _ := json.Marshal(f.value(reflect.TypeOf(route.Body), 0))
		body = string(text)
	}
	if route.Path == "/v1/handover" { // which would end it all
		query = "x=1&" + query
	}
	body = f.spoil(body, 8)
	headers := []string{"Host: " + pick(f, "realmgate", "a", "", "[::1]:1", strings.Repeat("a", 300))}
	if changes(route) {
		headers = append(headers, "If-Match: "+never)
	} else if f.seldom(4) {
		headers = append(headers, "If-Match: "+pick(f, never, `"1"`, "*", `W/"1"`, `"1", "2"`, "", `"-1"`, f.junk()))
	}
	if f.seldom(3) {
		headers = append(headers, "Accept: "+pick(f, "application/x-ndjson", "application/json", "*/*", "text/html", f.junk()))
	}
	if f.seldom(10) {
		headers = append(headers, pick(f, "Last-Event-ID: ", "Authorization: Bearer rg_", "Content-Type: ", "Cookie: ", "Range: bytes=", "Expect: 100-continue", "X: ")+f.junk())
	}
	if f.seldom(50) {
		method = pick(f, "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "G\x00T")
	}
	if f.seldom(20) {
		path = f.spoil(path, 1)
	}
	target := path
	if query != "" {
		target += "?" + query
	}
	length := len(body)
	if f.seldom(100) { // more is said than comes: the rest is waited for, so the next request is it
		length += f.random.IntN(3) - 1
	}
	headers = append(headers, fmt.Sprintf("Content-Length: %d", max(0, length)))
	text := method + " " + target + " HTTP/1.1\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n" + body
	if f.seldom(200) && !changes(route) && route.Path != "/v1/handover" {
		text = f.spoil(text, 1)
	}
	return []byte(text)
}

// changes reports whether a request may change the configuration, were it for the generation in force.
func changes(r api.Route) bool {
	return strings.HasPrefix(r.Path, "/v1/reload") || strings.HasPrefix(r.Path, "/v1/chains/") || r.Path == "/v1/config/rollback"
}

// query has parameters that are taken, mostly, with values that are good, mostly.
func (f *fuzzer) query(r api.Route) string {
	var parts []string
	for _, p := range r.Takes {
		if p.Required && !f.seldom(10) || f.seldom(4) {
			parts = append(parts, url.QueryEscape(p.Name)+"="+url.QueryEscape(f.parameter(p)))
		}
	}
	if f.seldom(20) {
		parts = append(parts, pick(f, "x=1", "limit=1", "=", "%zz", "a;b", "cursor=e30", url.QueryEscape(f.junk())))
	}
	if len(parts) > 0 && f.seldom(20) {
		parts = append(parts, parts[0])
	}
	return strings.ReplaceAll(f.spoil(strings.Join(parts, "&"), 30), " ", "%20")
}

func (f *fuzzer) parameter(p api.Parameter) string {
	if len(p.Values) > 0 && !f.seldom(5) {
		return pick(f, p.Values...)
	}
	if p.Integer && !f.seldom(5) {
		return pick(f, "1", "0", "-1", "10", "65535", "10001", "99999999999999999999")
	}
	return f.text()
}

// text is a word that the gateway may know, or none.
func (f *fuzzer) text() string {
	return pick(f, "", "a", "tcp", "udp", "icmp", "any", "203.0.113.7", "10.0.0.100", "2001:db8::1", "203.0.113.0/24", "0.0.0.0/0", "::/0", "1", "0", "-1", "80",
		"in", "out", "host", "name", "-idle", "status", "drops,bans", "echo."+hostName(0), hostName(0), ".", "read", "admin", "web", "filter",
		"{use: filter, deny: [203.0.113.0/24]}", "eyJzb3J0IjoiIn0", f.junk())
}

// value is one for a type, or seldom for another.
func (f *fuzzer) value(of reflect.Type, deep int) any {
	if of == nil || deep > 6 || f.seldom(15) {
		return pick[any](f, nil, true, -1, 1e300, f.text(), []any{}, map[string]any{"a": nil}, []any{[]any{[]any{}}})
	}
	if reflect.PointerTo(of).Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()) {
		return f.text()
	}
	switch of.Kind() {
	case reflect.Struct:
		made := map[string]any{}
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); field.IsExported() && name != "-" && name != "" && !f.seldom(8) {
				made[name] = f.value(field.Type, deep+1)
			}
		}
		if f.seldom(20) {
			made[f.text()] = f.text()
		}
		return made
	case reflect.Slice:
		made := make([]any, f.random.IntN(4))
		for i := range made {
			made[i] = f.value(of.Elem(), deep+1)
		}
		return made
	case reflect.Pointer:
		return f.value(of.Elem(), deep+1)
	case reflect.Bool:
		return f.seldom(2)
	case reflect.String:
		return f.text()
	}
	return pick[any](f, 0, 1, -1, 7, 60, 0.5, 1<<40, 1e18)
}

// junk is octets that mean nothing; no end of a line among them.
func (f *fuzzer) junk() string {
	made := make([]byte, f.random.IntN(12))
	for i := range made {
		made[i] = byte(f.random.IntN(256))
	}
	return strings.Map(func(r rune) rune {
		if r == '\r' || r == '\n' {
			return -1
		}
		return r
	}, string(made))
}

// spoil changes one of so many texts at a place.
func (f *fuzzer) spoil(text string, of int) string {
	if text == "" || !f.seldom(of) {
		return text
	}
	at := f.random.IntN(len(text))
	switch f.random.IntN(4) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + f.junk() + text[at:]
	case 2:
		return text[:at] + strings.Repeat(text[at:at+1], 1+f.random.IntN(2000)) + text[at:]
	}
	changed := slices.Clone([]byte(text))
	changed[at] ^= 1 << f.random.IntN(8)
	return string(changed)
}
