package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// caller asks a gateway's control API, as a program does that knows nothing but its description.
type caller struct {
	t    *testing.T
	http *http.Client
}

func (d *daemon) caller() caller {
	path := client.SocketPath(d.instance)
	return caller{d.t, &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}}
}

// apiAnswer is the status and the body of one, and what kind that is.
type apiAnswer struct {
	status int
	kind   string
	body   []byte
	header http.Header
}

func (c caller) ask(method, target string, header ...string) apiAnswer {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://realmgate"+target, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, target, err)
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return apiAnswer{response.StatusCode, kind, body, response.Header}
}

// What a real gateway answers is what its own description says, and a list can be gone through page by page.
func TestAPI(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, Servers: 1})
	r.echoServers()
	echoServer(t, r.Servers[0], 7, "server")
	d := r.start(r.configuration() + "chains: [{name: all, functions: [{use: filter, deny: [203.0.113.9]}]}]\nlog: {sinks: [{name: disk, directory: " + r.directory + "/nat}]}\n")
	for port := uint16(5000); port < 5007; port++ {
		if _, err := echo(r.Hosts()[0], netip.AddrPortFrom(r.Hosts()[0].IP, port), netip.AddrPortFrom(r.Servers[0].IP, 7)); err != nil {
			t.Fatal(err)
		}
	}
	r.mustReach(r.Clients[0], 0)
	if out, err := d.tell("ban", "add", "203.0.113.7"); err != nil {
		t.Fatal(out)
	}
	c := d.caller()
	description := c.ask(http.MethodGet, "/v1/openapi.json")
	c.validates(description)

	var seen []string
	query := url.Values{"limit": {"3"}, "sort": {"-private"}}
	for {
		var page struct {
			Items []client.Session
			Next  string
		}
		a := c.ask(http.MethodGet, "/v1/sessions?"+query.Encode())
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK || len(page.Items) > 3 {
			t.Fatalf("%v: %d %s", err, a.status, a.body)
		}
		for _, s := range page.Items {
			seen = append(seen, s.Private.String())
		}
		if page.Next == "" {
			break
		}
		query.Set("cursor", page.Next)
	}
	lines := bytes.Count(c.ask(http.MethodGet, "/v1/sessions", "Accept", "application/x-ndjson").body, []byte("\n"))
	if len(seen) < 8 || len(seen) != lines {
		t.Errorf("%d sessions on pages, %d in lines: %v", len(seen), lines, seen)
	}

	now := c.ask(http.MethodGet, "/v1/status").header.Get("ETag")
	if a := c.ask(http.MethodPost, "/v1/reload", "If-Match", now); a.status != http.StatusOK {
		t.Errorf("a reload of generation %s: %d %s", now, a.status, a.body)
	}
	if a := c.ask(http.MethodPost, "/v1/reload", "If-Match", now); a.status != http.StatusPreconditionFailed {
		t.Errorf("a reload of a generation that is over: %d %s", a.status, a.body)
	}
	d.write("dns: {zones: []}\n")
	a := c.ask(http.MethodPost, "/v1/reload")
	var refused struct{ Errors []struct{ File string } }
	if err := json.Unmarshal(a.body, &refused); err != nil || a.status != http.StatusUnprocessableEntity || len(refused.Errors) == 0 || refused.Errors[0].File != d.config {
		t.Errorf("a bad configuration: %v, %d %s", err, a.status, a.body)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200} {
		if a := c.ask(http.MethodGet, path); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// validates asks for all that can be got and ends by itself, and holds the answers against a description.
func (c caller) validates(description apiAnswer) {
	c.t.Helper()
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(description.body))
	if err != nil {
		c.t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("openapi.json", whole); err != nil {
		c.t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(description.body, &described); err != nil {
		c.t.Fatal(err)
	}
	queries, answers := map[string]string{"/v1/sessions/summary": "?by=remote24", "/v1/explain": "?address=203.0.113.7", "/v1/trace": "?address=198.18.0.2&port=5000&protocol=udp&at=" + time.Now().UTC().Format(time.RFC3339)}, 0
	for path, methods := range described.Paths {
		endless := slices.Contains([]string{"/v1/drops", "/v1/capture", "/v1/capture/drops", "/v1/stream"}, path)
		if methods["get"] == nil || endless || !strings.HasPrefix(path, "/v1/") {
			continue
		}
		for _, accept := range []string{"application/json", "application/x-ndjson"} {
			a := c.ask(http.MethodGet, path+queries[path], "Accept", accept)
			at := fmt.Sprintf("openapi.json#/paths/%s/get/responses/200/content/%s/schema", strings.ReplaceAll(path, "/", "~1"), strings.ReplaceAll(a.kind, "/", "~1"))
			schema, err := compiler.Compile(at)
			if err != nil || a.status != http.StatusOK {
				c.t.Errorf("%s: %v, %d %s", path, err, a.status, a.body)
				continue
			}
			values := bufio.NewScanner(bytes.NewReader(a.body))
			values.Buffer(nil, 1<<20)
			for path != "/v1/openapi.json" && a.kind != "text/plain" && values.Scan() {
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(values.Bytes()))
				if err == nil {
					err = schema.Validate(value)
				}
				if err != nil {
					c.t.Errorf("%s: %v\n%s", path, err, values.Bytes())
				}
				answers++
			}
		}
	}
	if answers < 30 {
		c.t.Errorf("%d answers were looked at", answers)
	}
}
