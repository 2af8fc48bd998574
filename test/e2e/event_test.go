package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// event is a line that a sink was told, with the fields of several kinds.
type event struct {
	Kind     string   `json:"kind"`
	Instance string   `json:"instance"`
	Sequence uint64   `json:"sequence"`
	Lost     uint64   `json:"lost"`
	Prefixes []string `json:"prefixes"`
	Count    int      `json:"count"`
	Reason   string   `json:"reason"`
	Error    string   `json:"error"`
	List     string   `json:"list"`
}

// told reads the events of a file, which need not be there yet.
func told(t *testing.T, path string) (all []event) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v: %q", path, err, line)
		}
		all = append(all, e)
	}
	return all
}

func kinds(events []event) string {
	var list []string
	for _, e := range events {
		list = append(list, e.Kind)
	}
	return strings.Join(list, " ")
}

// hook is a web server that keeps the events that it is sent.
type hook struct {
	mutex  sync.Mutex
	events []event
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var some []event
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &some) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.events = append(h.events, some...)
}

func (h *hook) kinds() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return kinds(h.events)
}

// The guide's sinks are told what happens from start to stop: a file everything, and also
// after it was moved away; a command and a web server what they want to know.
func TestGuideEvents(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Servers: 1})
	log, siem := filepath.Join(r.directory, "events.jsonl"), filepath.Join(r.directory, "siem.jsonl")
	p, h := publish(t, r.Servers[0]), &hook{}
	listener, err := r.Servers[0].Listen("tcp4", r.Servers[0].IP.String()+":8001")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	p.put("/drop.txt", "203.0.113.0/24")
	configuration := r.configuration() + "lists:\n  - {name: drop, url: \"" + p.url + "/drop.txt\"}\n" +
		r.guideFrom("events", "events.md", "/var/log/realmgate/events.jsonl", log,
			"/usr/bin/logger, --size=8192, --tag, realmgate", "/usr/bin/tee, "+siem, "https://hooks.example", "http://"+listener.Addr().String())
	d := r.start(configuration)

	mustTell := func(arguments ...string) {
		t.Helper()
		if out, err := d.tell(arguments...); err != nil {
			t.Fatal(out)
		}
	}
	mustBeTold := func(kind string) event {
		t.Helper()
		var found event
		eventually(t, 20*time.Second, kind+" is told", func() bool {
			all := told(t, log)
			if len(all) > 0 {
				found = all[len(all)-1]
			}
			return found.Kind == kind
		})
		return found
	}
	mustBeTold("start")
	mustTell("ban", "add", "203.0.113.7", "--for", "1s")
	mustBeTold("unban")
	all := told(t, log)
	if kinds(all) != "start ban unban" {
		t.Fatalf("told %+v", all)
	}
	ban, unban := all[1], all[2]
	if ban.Prefixes[0] != "203.0.113.7/32" || ban.Reason != "manual" || ban.Instance != r.ID() || ban.Sequence != 2 || unban.Reason != "expired" || unban.Count != 1 {
		t.Errorf("told %+v and %+v", ban, unban)
	}
	mustTell("ban", "add", "203.0.113.7")
	mustTell("ban", "remove", "203.0.113.7")
	if e := mustBeTold("unban"); e.Reason != "removed" {
		t.Errorf("told %+v", e)
	}

	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	d.write(configuration + "nonsense: 1\n")
	if out, err := d.tell("reload"); err == nil {
		t.Fatal(out)
	}
	if e := mustBeTold("reload"); !strings.Contains(e.Error, "nonsense") {
		t.Errorf("told %+v", e)
	}
	eventually(t, 10*time.Second, "the list is had", func() bool { return d.lists()["drop"].Entries == 1 })
	p.put("/drop.txt")
	d.refresh(p, "drop", "/drop.txt")
	if e := mustBeTold("list_failed"); e.List != "drop" || !strings.Contains(e.Error, "500") {
		t.Errorf("told %+v", e)
	}
	p.put("/drop.txt", "203.0.113.0/24")
	d.refresh(p, "drop", "/drop.txt")
	mustBeTold("list_recovered")

	for _, s := range list[[]client.Sink](d, "events") {
		if s.Lost > 0 || s.Error != "" || strings.Contains(s.Webhook, "realmgate") {
			t.Errorf("%+v", s)
		}
	}
	eventually(t, 10*time.Second, "the web server is told what it wants to know", func() bool { return h.kinds() == "reload list_failed" })
	d.stop()
	if got := kinds(told(t, log)); got != "reload list_failed list_recovered stop" {
		t.Errorf("after the rotation: %s", got)
	}
	if got := kinds(told(t, siem)); got != "ban unban ban unban" {
		t.Errorf("the command was told %s", got)
	}
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
}

// A sink that takes nothing, and one that cannot be, hold up neither bans nor a reload nor
// the stop; each of many bans at once is named; what ended while no daemon ran is told by the next.
func TestEventsHoldUpNobody(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	log, journal, many := filepath.Join(r.directory, "events.jsonl"), filepath.Join(r.directory, "auth.log"), filepath.Join(r.directory, "many")
	pid := filepath.Join(r.directory, "pid")
	configuration := r.configuration() + "jails:\n" + jail("ssh", journal, "") + "events:\n  - {name: log, file: " + log + "}\n" +
		"  - {name: stuck, command: [/bin/sh, -c, 'echo $$ >" + pid + "; exec sleep 1000']}\n" +
		"  - {name: missing, file: " + log + ".d/events.jsonl}\n  - {name: absent, command: [/none]}\n"
	d := r.start(configuration)
	mustTell := func(arguments ...string) {
		t.Helper()
		if out, err := d.tell(arguments...); err != nil {
			t.Fatal(out)
		}
	}
	mustBeTold := func(want string) {
		t.Helper()
		eventually(t, 20*time.Second, "told "+want, func() bool { return kinds(told(t, log)) == want })
	}
	mustBeTold("start jail_failed")
	if err := os.WriteFile(journal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustBeTold("start jail_failed jail_recovered")
	var text strings.Builder
	for n := range 5_000 {
		fmt.Fprintf(&text, "203.%d.%d.%d\n", n>>16, n>>8&255, n&255)
	}
	if err := os.WriteFile(many, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	mustTell("ban", "add", "--file", many)
	mustTell("ban", "remove", "--file", many)
	mustTell("reload")
	mustBeTold("start jail_failed jail_recovered" + strings.Repeat(" ban", 40) + strings.Repeat(" unban", 40) + " reload")
	named := map[string]map[string]bool{"ban": {}, "unban": {}}
	for _, e := range told(t, log) {
		for _, p := range e.Prefixes {
			named[e.Kind][p] = true
		}
	}
	if len(named["ban"]) != 5_000 || len(named["unban"]) != 5_000 {
		t.Errorf("of 5000 prefixes %d are told as banned, %d as banned no more", len(named["ban"]), len(named["unban"]))
	}
	for _, what := range []string{"missing: open", "absent: the command does not start"} {
		if d.warning("events wait for sink "+what) == "" {
			t.Errorf("status does not tell of %s", what)
		}
	}
	process := 0
	eventually(t, 20*time.Second, "the command runs", func() bool { process = runs(t, pid); return process != 0 })
	mustTell("ban", "add", "203.0.113.7", "--for", "5s")
	over := time.NewTimer(5 * time.Second) // a ban lasts until a time of the clock
	d.stop()
	if err := syscall.Kill(process, 0); err == nil {
		t.Error("the command runs on after its daemon")
	}
	all := told(t, log)
	if last := all[len(all)-1]; last.Kind != "stop" || last.Error != "" {
		t.Errorf("the last is %+v", last)
	}
	stopped := len(all)
	if !strings.Contains(d.logged(), "sink failed") {
		t.Error("the log does not say that events were not delivered")
	}
	<-over.C
	d.run()
	eventually(t, 20*time.Second, "the end of the ban is told", func() bool { return len(told(t, log)) >= stopped+2 })
	if since := told(t, log)[stopped:]; since[0].Kind != "start" || since[0].Sequence != 1 || since[1].Kind != "unban" || since[1].Reason != "expired" {
		t.Errorf("told %+v", since)
	}
}

// messaged is the guide's sink that sends a message for each event, here to a file, and the
// file.
func (r *realm) messaged() (sinks, mailbox string) {
	r.t.Helper()
	page, err := os.ReadFile("../../docs/guide/events.md")
	if err != nil {
		r.t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(page), "```sh\n")
	script, rest, _ := strings.Cut(script, "```")
	_, sinks, _ = strings.Cut(rest, "```yaml\n")
	sinks, _, _ = strings.Cut(sinks, "```")
	mailbox, path := filepath.Join(r.directory, "mailbox"), filepath.Join(r.directory, "chat-events")
	for _, c := range []struct {
		text     *string
		old, new string
	}{
		{&script, "curl -sS --max-time 10 --data-binary @- https://chat.example/realmgate", "/usr/bin/tee -a " + mailbox}, {&sinks, "/usr/local/bin/chat-events", path},
	} {
		if !strings.Contains(*c.text, c.old) {
			r.t.Fatalf("the guide has no %s", c.old)
		}
		*c.text = strings.ReplaceAll(*c.text, c.old, c.new)
	}
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		r.t.Fatal(err)
	}
	return sinks, mailbox
}

// The guide's script sends a message for each event.
func TestGuideEventsOneByOne(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	sinks, mailbox := r.messaged()
	d := r.start(r.configuration() + sinks)
	d.stop()
	text, err := os.ReadFile(mailbox)
	if got := strings.Count(string(text), "realmgate: {\"time\""); err != nil || got != 2 {
		t.Errorf("%d messages: %v:\n%s", got, err, text)
	}
}
