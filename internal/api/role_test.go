package api

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// as has everybody ask with a role.
func as(role Role) Identify {
	return func(*http.Request) (Caller, error) { return Caller{Role: role}, nil }
}

// handlerOf is the API of a gateway for an admin.
func handlerOf(g Gateway) http.Handler { return Handler(g, as(Admin), slog.New(slog.DiscardHandler)) }

// takes is the least role of each request.
var takes = map[string]Role{
	"GET /v1/status": Read, "GET /v1/sessions": Read, "GET /v1/pool": Read, "GET /v1/hosts": Read, "GET /v1/chains": Read, "GET /v1/bans": Read,
	"GET /v1/jails": Read, "GET /v1/events": Read, "GET /v1/lists": Read, "GET /v1/names": Read, "GET /v1/web": Read, "GET /v1/edges": Read, "GET /v1/pacts": Read, "GET /metrics": Read, "GET /v1/caller": Read, "GET /v1/events/last": Read, "GET /v1/pool/map": Read,

	"GET /v1/drops": Operate, "GET /v1/explain": Operate, "GET /v1/trace": Operate, "GET /v1/observe": Operate, "POST /v1/reload": Operate, "POST /v1/bans/add": Operate, "POST /v1/bans/remove": Operate,
	"POST /v1/lists/refresh": Operate, "POST /v1/sessions/end": Operate,

	"GET /v1/capture": Admin, "GET /v1/capture/drops": Admin, "GET /v1/goroutines": Admin, "POST /v1/handover": Admin, "POST /v1/chains/insert": Admin, "POST /v1/chains/remove": Admin, "POST /v1/chains/move": Admin,
	"POST /v1/chains/save": Admin, "GET /v1/config": Admin, "GET /v1/config/diff": Admin, "POST /v1/config/rollback": Admin,

	"GET /v1/config/history": Read, "POST /v1/reload/confirm": Operate,

	"GET /v1/stream": Read, "GET /v1/tokens": Admin, "POST /v1/tokens/create": Admin, "POST /v1/tokens/revoke": Admin,
	"GET /v1/sessions/summary": Read, "GET /v1/openapi.json": Read, "GET /healthz": NoRole, "GET /readyz": NoRole,
}

// Each request takes its role: who has a lesser one, or none, is told which, and who has it can help.
func TestRoles(t *testing.T) {
	var got []string
	for _, r := range Routes() {
		got = append(got, r.pattern())
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(takes)); !slices.Equal(got, want) {
		t.Fatalf("requests are %v, the table has %v", got, want)
	}
	for target, want := range takes {
		method, path, _ := strings.Cut(target, " ")
		for have := NoRole; have <= Admin; have++ {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), method, path+"?nonsense=1", http.NoBody) // who may is told of that
			Handler(&fakeGateway{}, as(have), slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
			if code := map[bool]int{true: http.StatusForbidden, false: http.StatusBadRequest}[have < want]; w.Code != code {
				t.Errorf("%s as %s: %d %s", target, have, w.Code, w.Body)
			}
			remedy := "403 this takes the role " + want.String() + ", and you have " + have.String() + ": ask as root, or as a member of "
			if told := refusal(t, w); have < want && (!strings.HasPrefix(told, remedy) || !strings.Contains(told, want.Group())) {
				t.Errorf("%s as %s: %s", target, have, told)
			}
		}
	}
}

func TestAccess(t *testing.T) {
	access := Access{10: Read, 11: Operate, 12: Admin}
	for want, groups := range map[Role][]uint32{NoRole: {1, 2}, Read: {1, 10}, Operate: {11, 10}, Admin: {10, 12, 11}} {
		if got := access.role(groups); got != want {
			t.Errorf("groups %v have the role %s, want %s", groups, got, want)
		}
		if got := (Access{}).role(groups); got != NoRole {
			t.Errorf("without groups %v have %s", groups, got)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	if c, err := byPeer(func() Access { return access })(r); err != nil || c != (Caller{}) {
		t.Errorf("nobody knows who asks, and it is %+v, %v", c, err)
	}
}

// The kernel says who asks, with all groups.
func TestPeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	p, err := peerOf(accepted)
	own, err2 := os.Getgroups()
	slices.Sort(own)
	groups := []int{}
	for _, g := range p.groups[1:] {
		groups = append(groups, int(g))
	}
	slices.Sort(groups)
	if err != nil || err2 != nil || int(p.uid) != os.Geteuid() || int(p.groups[0]) != os.Getegid() || !slices.Equal(groups, own) {
		t.Errorf("%+v, %v, %v, %v", p, err, own, err2)
	}
	r := httptest.NewRequestWithContext(withPeer(t.Context(), accepted), http.MethodGet, "/", http.NoBody)
	if c, err := byPeer(func() Access { return nil })(r); err != nil || c.Role != Admin || c.Name != strconv.Itoa(os.Geteuid()) {
		t.Errorf("its own user is %+v, %v", c, err)
	}
	if _, err := peerOf(&net.TCPConn{}); err == nil {
		t.Error("who asks by TCP is known")
	}
}

// Nobody else opens the socket unless there are groups, and no longer than there are. Nothing else is changed.
func TestOpen(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "run")
	path := filepath.Join(directory, "socket")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		access Access
		want   os.FileMode
	}{{nil, 0o600}, {Access{7: Read}, 0o666}, {Access{}, 0o600}} {
		if err := Open(path, c.access); err != nil {
			t.Fatal(err)
		}
		folder, err := os.Stat(directory)
		socket, err2 := os.Stat(path)
		if err != nil || err2 != nil || folder.Mode().Perm() != 0o711 || socket.Mode().Perm() != c.want {
			t.Errorf("%v: %v %v, %v %v", c.access, folder.Mode(), socket.Mode(), err, err2)
		}
	}
	if err := Open(filepath.Join(directory, "none"), nil); err == nil {
		t.Error("a socket that is not there was opened")
	}
	other := filepath.Join(directory, "other")
	link := filepath.Join(directory, "link")
	if err := errors.Join(os.WriteFile(other, nil, 0o600), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{other, link} {
		err := Open(not, Access{7: Read})
		if info, _ := os.Stat(other); err == nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", not, err, info.Mode())
		}
	}
}

// Who has no role has few connections, which end whatever it does, and takes no place of others.
func TestStrangers(t *testing.T) {
	l, err := Listen(filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &doorkeeper{Listener: l, access: func() Access { return nil }}
	connect := func() net.Conn {
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	connect()
	known, err := d.Accept()
	if _, is := known.(*stranger); is || err != nil {
		t.Fatalf("our own user is a stranger: %v", err)
	}
	d.strangers.Store(mostStrangers)
	d.Listener = unknown{l}
	beyond := connect()
	accepted := make(chan net.Conn)
	go func() {
		c, _ := d.Accept()
		accepted <- c
	}()
	if _, err := beyond.Read(make([]byte, 1)); err == nil {
		t.Error("one too many is not refused")
	}
	d.strangers.Store(mostStrangers - 1)
	connect()
	one := <-accepted
	_ = one.SetReadDeadline(time.Unix(1, 0))
	if _, err := one.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an earlier deadline: %v", err)
	}
	_ = one.SetReadDeadline(time.Time{})
	_ = one.SetDeadline(time.Time{})
	if _, err := one.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it ends with %v", err)
	}
	_ = one.Close()
	_ = one.Close()
	if n := d.strangers.Load(); n != mostStrangers-1 {
		t.Errorf("%d places are taken", n)
	}
}

// unknown hides who connects.
type unknown struct{ net.Listener }

func (u unknown) Accept() (net.Conn, error) {
	c, err := u.Listener.Accept()
	return struct{ net.Conn }{c}, err
}

// Who changes something is in the log, and who looks is not.
func TestAudit(t *testing.T) {
	var log strings.Builder
	access := Access{7: Operate}
	h := Handler(&fakeGateway{}, byPeer(func() Access { return access }), slog.New(slog.NewTextHandler(&log, nil)))
	for i, target := range []string{"GET /v1/status", "POST /v1/reload", "POST /v1/handover", "POST /v1/reload"} {
		method, path, _ := strings.Cut(target, " ")
		who := peer{uid: 1000, groups: []uint32{7}}
		if i == 3 {
			who.groups = nil // and no role
		}
		ctx := context.WithValue(t.Context(), peerKey{}, who)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, path, http.NoBody))
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "msg=command request=\"POST /v1/reload\" caller=\"user 1000\" status=200") ||
		!strings.HasSuffix(lines[1], "msg=command request=\"POST /v1/handover\" caller=\"user 1000\" status=403") {
		t.Errorf("logged:\n%s", log.String())
	}
}
