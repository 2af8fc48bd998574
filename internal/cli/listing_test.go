package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

var update = flag.Bool("update", false, "write what the commands print to testdata")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestOutput(t *testing.T) {
	empty := &fakeDaemon{status: client.Status{Instance: "lab", Version: "devel", Started: started}}
	services := &fakeDaemon{explained: client.Explanation{
		From: netip.MustParseAddr("203.0.113.7"), Direction: "in", Ending: client.Ending{Passes: true},
		Steps: []client.ExplainStep{{Step: "ban", Says: "continue", Why: "203.0.113.7 is not banned"}},
		Services: []client.ExplainService{
			{Name: "dns.hosta.foo.example.", Protocol: model.UDP, Port: 53, Ending: client.Ending{Reason: "drop_denied", Function: "all/limit"}},
			{Name: "www.hosta.foo.example.", Protocol: model.TCP, Port: 80, Ending: client.Ending{Passes: true}},
		},
	}}
	nobody := &fakeDaemon{traced: client.Traced{Begins: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Lost: 3, Gap: true, More: true}}
	passes := &fakeDaemon{explained: client.Explanation{
		From: netip.MustParseAddr("10.0.0.100"), To: "192.0.2.9", Protocol: model.ICMP, Direction: "out", Ending: client.Ending{Passes: true, Function: "out/friends"},
	}}
	for name, c := range map[string]struct {
		daemon *fakeDaemon
		args   string
	}{
		"status":                {populated(), "status"},
		"status-json":           {populated(), "status -o json"},
		"status-empty":          {empty, "status"},
		"sessions":              {populated(), "sessions"},
		"sessions-json":         {populated(), "sessions -o json"},
		"sessions-empty":        {empty, "sessions"},
		"pool":                  {populated(), "pool"},
		"pool-json":             {populated(), "pool -o json"},
		"pool-empty":            {empty, "pool"},
		"hosts":                 {populated(), "hosts"},
		"hosts-json":            {populated(), "hosts --output json"},
		"hosts-empty":           {empty, "hosts"},
		"names":                 {populated(), "names"},
		"names-json":            {populated(), "names -o json"},
		"names-empty":           {empty, "names"},
		"web":                   {populated(), "web"},
		"web-json":              {populated(), "web -o json"},
		"web-empty":             {empty, "web"},
		"drops":                 {populated(), "drops --count 3"},
		"drops-json":            {populated(), "drops --count 2 -o json"},
		"handover":              {populated(), "handover"},
		"config-show":           {populated(), "config show"},
		"config-show-effective": {populated(), "config show --effective"},
		"config-show-file":      {empty, "config show --effective -c testdata/untidy.yaml"},
		"config-diff-empty":     {empty, "config diff"},
		"config-fmt":            {empty, "config fmt testdata/untidy.yaml"},
		"reload":                {populated(), "reload"},
		"reload-empty":          {empty, "reload"},
		"reload-confirm":        {populated(), "reload --confirm 2m"},
		"confirm":               {populated(), "confirm"},
		"config-history":        {populated(), "config history"},
		"config-history-json":   {populated(), "config history -o json"},
		"config-history-empty":  {empty, "config history"},
		"config-rollback":       {populated(), "config rollback 42"},

		"ban-add":          {populated(), "ban add 203.0.113.7 198.51.100.0/24 --for 1h"},
		"ban-add-shorter":  {populated(), "ban add 203.0.113.0/24 198.51.100.7 192.0.2.9 --for 1m"},
		"ban-remove":       {populated(), "ban remove 203.0.113.7"},
		"ban-remove-wider": {populated(), "ban remove 2001:db8:9::5"},
		"ban-list":         {populated(), "ban list"},
		"ban-list-empty":   {empty, "ban list"},
		"ban-list-json":    {populated(), "ban list -o json"},
		"events":           {populated(), "events"},
		"events-empty":     {empty, "events"},
		"events-json":      {populated(), "events -o json"},
		"jails":            {populated(), "jails"},
		"jails-empty":      {empty, "jails"},
		"jails-json":       {populated(), "jails -o json"},
		"token-list":       {populated(), "token list"},
		"token-list-json":  {populated(), "token list -o json"},
		"token-revoke":     {populated(), "token revoke ann"},
		"lists":            {populated(), "lists"},
		"lists-empty":      {empty, "lists"},
		"lists-json":       {populated(), "lists -o json"},
		"lists-refresh":    {populated(), "lists refresh drop partners"},
		"lists-force":      {populated(), "lists refresh drop --force"},
		"chain-list":       {populated(), "chain list"},
		"chain-list-empty": {empty, "chain list"},
		"chain-list-json":  {populated(), "chain list -o json"},
		"chain-show":       {populated(), "chain show web"},
		"chain-backends":   {populated(), "chain show shop"},
		"chain-show-json":  {populated(), "chain show out -o json"},
		"chain-changed":    {populated(), "chain show out"},
		"chain-insert":     {populated(), "chain insert out {use:filter} --priority 0"},
		"chain-move":       {populated(), "chain move web friends --after filter"},
		"chain-remove":     {populated(), "chain remove web friends"},
		"chain-save":       {populated(), "chain save"},
		"chain-save-empty": {empty, "chain save"},

		"explain":          {populated(), "explain 203.0.113.7 --to www.hosta.foo.example"},
		"explain-json":     {populated(), "explain 203.0.113.7 --to www.hosta.foo.example -o json"},
		"explain-services": {services, "explain 203.0.113.7"},
		"observe":          {populated(), "observe"},
		"observe-json":     {populated(), "observe --last 2 -o json"},
		"trace":            {populated(), "trace --address 192.0.2.1 --port 40312 --at 2026-11-30T09:12:03Z"},
		"trace-json":       {populated(), "trace --address 192.0.2.1 --at 2026-11-30T09:12:03Z -o json"},
		"trace-nobody":     {nobody, "trace --address 192.0.2.1 --port 40312 --at 2026-11-30T09:12:03Z"},
		"trace-empty":      {empty, "trace --address 192.0.2.1 --port 40312 --at 2026-11-30T09:12:03Z"},
		"explain-pass":     {passes, "explain 10.0.0.100 --to 192.0.2.9 --protocol icmp --direction out"},

		"sessions-end":      {populated(), "sessions end --all"},
		"sessions-end-json": {populated(), "sessions end --port 80 -o json"},
	} {
		t.Run(name, func(t *testing.T) {
			r := execute(t.Context(), append(strings.Fields(c.args), "--socket", c.daemon.serve(t))...)
			if r.code != exitOK || r.stderr != "" {
				t.Fatalf("exit %d, %s", r.code, r.stderr)
			}
			golden(t, name, r.stdout)
		})
	}
}

// What the flags say is what is asked.
func TestExplainFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"203.0.113.7": "/v1/explain?address=203.0.113.7",
		"10.0.0.1 --to 192.0.2.9 --port 25 --protocol tcp --direction out": "/v1/explain?address=10.0.0.1&direction=out&port=25&protocol=tcp&to=192.0.2.9",
	} {
		d := populated()
		r := execute(t.Context(), append(strings.Fields("explain "+flags), "--socket", d.serve(t))...)
		if got := d.asked(t); r.code != exitOK || got != want {
			t.Errorf("%s: asked for %s, want %s: %+v", flags, got, want, r)
		}
	}
}

// What is ended is what would be listed.
func TestEndFilters(t *testing.T) {
	for flags, want := range map[string]string{
		"--all": "/v1/sessions/end",
		"--address 10.0.0.1 --port 80 --protocol udp --host A.example": "/v1/sessions/end?address=10.0.0.1&host=a.example.&port=80&protocol=udp",
	} {
		d := populated()
		r := execute(t.Context(), append(strings.Fields("sessions end "+flags), "--socket", d.serve(t))...)
		if got := d.asked(t); r.code != exitOK || got != want {
			t.Errorf("%s: asked for %s, want %s: %+v", flags, got, want, r)
		}
	}
}

func TestEmptyArrays(t *testing.T) {
	socket := (&fakeDaemon{}).serve(t)
	for _, command := range []string{"sessions", "pool", "hosts"} {
		if r := execute(t.Context(), command, "-o", "json", "--socket", socket); r.code != exitOK || r.stdout != "[]\n" {
			t.Errorf("%s: exit %d, %q %s", command, r.code, r.stdout, r.stderr)
		}
	}
}

// Arrays hold every entry with every field.
func TestArraysParse(t *testing.T) {
	d := populated()
	socket := d.serve(t)
	check := func(into any, args ...string) {
		r := execute(t.Context(), append(args, "-o", "json", "--socket", socket)...)
		decoder := json.NewDecoder(strings.NewReader(r.stdout))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(into); err != nil || r.code != exitOK || decoder.More() {
			t.Errorf("%s: exit %d, %v in %s%s", args, r.code, err, r.stdout, r.stderr)
		}
	}
	var sessions []client.Session
	var pool []client.Binding
	var hosts []client.Host
	var drops []client.Drop
	check(&sessions, "sessions")
	check(&pool, "pool")
	check(&hosts, "hosts")
	check(&drops, "drops", "--count", "3")
	if len(sessions) != 3 || sessions[0] != d.sessions[0] || len(pool) != 2 || pool[0].Service != d.pool[0].Service || len(hosts) != len(d.hosts) ||
		len(drops) != 3 || drops[1] != d.drops[1] {
		t.Errorf("%+v\n%+v\n%+v\n%+v", sessions, pool, hosts, drops)
	}
}

func TestFiltersReachTheDaemon(t *testing.T) {
	for _, command := range []string{"sessions", "pool", "hosts", "drops"} {
		for args, want := range map[string]string{
			"":                                   "",
			"--address 198.18.0.33":              "?address=198.18.0.33",
			"--port 80":                          "?port=80",
			"--protocol TCP":                     "?protocol=tcp",
			"--protocol any":                     "",
			"--host WWW.hosta.foo.example":       "?host=www.hosta.foo.example.",
			"--host a.example. --port=1 -o json": "?host=a.example.&port=1",
			"--address ::ffff:10.0.0.1 --port 65535 --protocol icmp": "?address=10.0.0.1&port=65535&protocol=icmp",
		} {
			d := populated()
			line := append([]string{command, "--socket", d.serve(t)}, strings.Fields(args)...)
			if command == "drops" {
				line = append(line, "--count", "1")
			}
			if r := execute(t.Context(), line...); r.code != exitOK {
				t.Errorf("%s: exit %d, %s", line, r.code, r.stderr)
			}
			if got := d.asked(t); got != "/v1/"+command+want {
				t.Errorf("%s %s: asked for %s", command, args, got)
			}
		}
	}
}

// More sessions than a group are all printed, under a heading for each group.
func TestSessionGroups(t *testing.T) {
	d := &fakeDaemon{}
	for range sessionGroup + 1 {
		d.sessions = append(d.sessions, populated().sessions[0])
	}
	r := execute(t.Context(), "sessions", "--socket", d.serve(t))
	if lines := strings.Count(r.stdout, "\n"); r.code != exitOK || lines != sessionGroup+1+2 || strings.Count(r.stdout, "PRIVATE") != 2 {
		t.Errorf("exit %d, %d lines, %s", r.code, lines, r.stderr)
	}
}

// A page says with which flags the next one comes; the list itself is what it is without.
func TestSessionPages(t *testing.T) {
	whole := execute(t.Context(), "sessions", "--socket", populated().serve(t))
	d := populated()
	d.next = "MjQxNw"
	for _, output := range []string{"table", "json"} {
		r := execute(t.Context(), "sessions", "-o", output, "--limit", "3", "--cursor", "Nw", "--socket", d.serve(t))
		if r.code != exitOK || r.stderr != "there are more: add --cursor MjQxNw\n" || output == "table" && r.stdout != whole.stdout {
			t.Errorf("exit %d, %s%s", r.code, r.stdout, r.stderr)
		}
		if got := d.asked(t); got != "/v1/sessions?cursor=Nw&limit=3" {
			t.Errorf("asked for %s", got)
		}
		d.queries = nil
	}
	d.sessions[0], d.sessions[1] = d.sessions[1], d.sessions[0]
	if r := execute(t.Context(), "sessions", "--sort", "-age", "--socket", d.serve(t)); r.code != exitOK || r.stdout == whole.stdout {
		t.Errorf("a list that came sorted was sorted again: %d\n%s", r.code, r.stdout)
	}
	if got := d.asked(t); got != "/v1/sessions?sort=-age" {
		t.Errorf("asked for %s", got)
	}
	if r := execute(t.Context(), "sessions", "--limit", "-1", "--socket", d.serve(t)); r.code == exitOK {
		t.Error("a limit of -1 is taken")
	}
}

// An answer that breaks off exits with 1, and leaves its array open; only that
// of drops, which never has an end of its own, is closed.
func TestBrokenAnswers(t *testing.T) {
	d := populated()
	d.breaks = true
	socket := d.serve(t)
	for command, closed := range map[string]bool{"sessions": false, "drops": true} {
		r := execute(t.Context(), command, "-o", "json", "--socket", socket)
		if r.code != exitError || r.stderr != "realmgate: the gateway is stopping\n" || json.Valid([]byte(r.stdout)) != closed {
			t.Errorf("%s: exit %d, %s%s", command, r.code, r.stdout, r.stderr)
		}
	}
}

// cancelAfter stops a context when a text was written.
type cancelAfter struct {
	bytes.Buffer
	text string
	stop func()
}

func (w *cancelAfter) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.stop()
	}
	return n, err
}

func TestInterrupt(t *testing.T) {
	socket := populated().serve(t)
	for _, format := range []string{"table", "json"} {
		ctx, stop := context.WithCancel(t.Context())
		stdout, stderr := &cancelAfter{text: "drop_icmp_type", stop: stop}, &bytes.Buffer{}
		code := newApp(stdout, stderr).main(ctx, []string{"drops", "-o", format, "--socket", socket})
		if code != exitOK || stderr.Len() > 0 || format == "json" && !json.Valid(stdout.Bytes()) {
			t.Errorf("%s: exit %d, %s%s", format, code, stdout, stderr)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, command := range []string{"status", "sessions", "pool", "hosts", "reload", "handover", "chain list", "chain show web"} {
		if r := execute(ctx, append(strings.Fields(command), "--socket", socket)...); r.code != exitError || r.stderr != "realmgate: interrupted\n" {
			t.Errorf("%s: %+v", command, r)
		}
	}
}
