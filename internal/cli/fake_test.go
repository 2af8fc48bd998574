package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/client"
)

// fakeDaemon speaks the control API on a real socket. The package that serves
// it in earnest is not ours to import; client's tests join the two.
type fakeDaemon struct {
	status    client.Status
	sessions  []client.Session
	next      string // the cursor of sessions that follow
	pool      []client.Binding
	hosts     []client.Host
	chains    []client.Chain
	bans      []client.Ban
	jails     []client.Jail
	tokens    []client.Token
	sinks     []client.Sink
	names     []api.Name
	web       []api.WebHost
	lists     []client.List
	explained client.Explanation
	traced    client.Traced
	flows     []client.Flow
	drops     []client.Drop   // shown, and then the stream stays open
	packets   []client.Packet // the same
	config    client.Config
	diff      client.ConfigDiff
	history   []client.HistoryEntry
	refusal   string      // what every request gets when set
	breaks    bool        // streams end with an error line
	handed    atomic.Bool // over: another answers

	mutex   sync.Mutex
	queries []string // "/v1/pool?port=80"
}

func (d *fakeDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mutex.Lock()
	d.queries = append(d.queries, r.URL.RequestURI())
	d.mutex.Unlock()
	if d.refusal != "" {
		status := http.StatusInternalServerError
		if r.Method == http.MethodPost {
			status = http.StatusUnprocessableEntity
		}
		w.WriteHeader(status)
		write(w, api.Problem{Status: status, Detail: d.refusal})
		return
	}
	switch r.URL.Path {
	case "/v1/status":
		s := d.status
		if d.handed.Load() {
			s.Started, s.Version = s.Started.Add(time.Hour), "v0.2.0"
		}
		write(w, s)
	case "/v1/pool":
		stream(w, d.pool)
	case "/v1/hosts":
		stream(w, d.hosts)
	case "/v1/names":
		stream(w, d.names)
	case "/v1/web":
		stream(w, d.web)
	case "/v1/bans":
		stream(w, d.bans)
	case "/v1/events":
		stream(w, d.sinks)
	case "/v1/jails":
		stream(w, d.jails)
	case "/v1/bans/add":
		var asked client.BanRequest
		_ = json.NewDecoder(r.Body).Decode(&asked)
		change := client.BanChange{Prefixes: len(asked.Prefixes)}
		for _, b := range d.bans {
			if slices.Contains(asked.Prefixes, b.Prefix) {
				change.Longer = append(change.Longer, b)
				change.Prefixes--
			}
		}
		write(w, change)
	case "/v1/bans/remove":
		var asked client.BanRequest
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if p := asked.Prefixes[0]; !p.Addr().Is4() {
			write(w, client.BanChange{Wider: []netip.Prefix{netip.PrefixFrom(p.Addr(), 64).Masked()}})
			return
		}
		write(w, client.BanChange{Prefixes: len(asked.Prefixes)})
	case "/v1/tokens":
		stream(w, d.tokens)
	case "/v1/tokens/create":
		var asked client.TokenRequest
		_ = json.NewDecoder(r.Body).Decode(&asked)
		lasts := time.Duration(asked.Seconds * float64(time.Second))
		write(w, client.TokenMade{Token: client.Token{Name: asked.Name, Role: asked.Role, Expires: started.Add(lasts)}, Secret: "rg_secret"})
	case "/v1/tokens/revoke":
		write(w, d.tokens[0])
	case "/v1/lists":
		stream(w, d.lists)
	case "/v1/lists/refresh":
		var asked client.ListRequest
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if asked.Force {
			asked.Lists = append(asked.Lists, "by force")
		}
		write(w, client.ListChange{Lists: len(asked.Lists)})
	case "/v1/config":
		write(w, d.config)
	case "/v1/config/diff":
		write(w, d.diff)
	case "/v1/observe":
		for i := range d.flows {
			_ = json.NewEncoder(w).Encode(d.flows[i])
		}
	case "/v1/trace":
		write(w, d.traced)
	case "/v1/explain":
		write(w, d.explained)
	case "/v1/chains":
		stream(w, d.chains)
	case "/v1/chains/insert", "/v1/chains/move", "/v1/chains/remove":
		var asked client.ChainRequest
		_ = json.NewDecoder(r.Body).Decode(&asked)
		functions := []string{asked.Function, fmt.Sprintf("before %q", asked.Before), fmt.Sprintf("after %q", asked.After)}
		if asked.Priority != nil {
			functions = append(functions, fmt.Sprintf("priority %d", *asked.Priority))
		}
		if strings.HasSuffix(r.URL.Path, "remove") {
			functions = []string{}
		}
		write(w, client.ChainChange{Generation: 9, Chain: asked.Chain, Functions: functions})
	case "/v1/chains/save":
		changed := client.ChainsSaved{Config: d.status.Config, Chains: []string{}}
		for _, c := range d.status.ChangedChains {
			changed.Chains = append(changed.Chains, c.Chain)
		}
		write(w, changed)
	case "/v1/sessions/end":
		write(w, client.Ended{Sessions: len(d.sessions)})
	case "/v1/handover":
		d.handed.Store(true)
		write(w, client.Handover{Sessions: len(d.sessions)})
	case "/v1/config/history":
		stream(w, d.history)
	case "/v1/config/rollback":
		write(w, client.RolledBack{Generation: 9, Hosts: 2, Kept: []string{"/etc/realmgate.yaml.kept-20260302T140700Z"}})
	case "/v1/reload/confirm":
		write(w, client.Confirmed{Generation: 8})
	case "/v1/reload":
		seconds, _ := strconv.Atoi(r.URL.Query().Get("confirm"))
		write(w, client.Reload{Generation: 8, Hosts: 1, Confirm: seconds, Dropped: len(d.status.ChangedChains)})
	case "/v1/sessions":
		stream(w, d.sessions)
		if d.next != "" {
			write(w, api.More{Next: d.next})
		}
	case "/v1/drops":
		stream(w, d.drops)
		d.stay(w, r)
	case "/v1/capture", "/v1/capture/drops":
		stream(w, d.packets)
		d.stay(w, r)
	}
	if d.breaks {
		write(w, api.Failed{Error: api.Problem{Detail: "the gateway is stopping"}})
	}
}

// stay keeps a live stream open.
func (d *fakeDaemon) stay(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	if !d.breaks {
		<-r.Context().Done()
	}
}

func stream[T any](w http.ResponseWriter, values []T) {
	for _, value := range values {
		write(w, value)
	}
}

func write(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }

// serve runs the daemon and returns its socket.
func (d *fakeDaemon) serve(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: d}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return path
}

// result is what a command line came to.
type result struct {
	code           int
	stdout, stderr string
}

// execute runs one command line. Clock and zone are fixed.
func execute(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	a := newApp(&stdout, &stderr)
	a.now = func() time.Time { return started.Add(26*time.Hour + 7*time.Minute) }
	a.zone = time.UTC
	code := a.main(ctx, args)
	return result{code, stdout.String(), stderr.String()}
}

var started = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (d *fakeDaemon) asked(t *testing.T) string {
	t.Helper()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(d.queries) != 1 {
		t.Fatalf("%d requests: %s", len(d.queries), fmt.Sprint(d.queries))
	}
	return d.queries[0]
}
