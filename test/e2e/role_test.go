package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Members of the groups realmgate-… do what their role may, and no more; a user in none is told what to do, and what was changed is
// in the log, with who did it.
func TestRoles(t *testing.T) {
	if *asUser {
		return // its folders are the user's
	}
	t.Parallel()
	const read, operate, stranger = 64011, 64012, 64013
	r := newRealm(t, netns.Options{Hosts: 1})
	groups := filepath.Join(r.directory, "group")
	text := fmt.Sprintf("root:x:0:\nrealmgate-read:x:%d:\nrealmgate-operate:x:%d:\n", read, operate)
	if err := os.WriteFile(groups, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := r.prepare(r.Gateway, r.ID(), r.configuration())
	folder, err := os.MkdirTemp("", "rg-roles-") // all may enter what is in /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil { //nolint:gosec // the users of the test pass through
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "socket")
	command := r.Gateway.Command(context.Background(), "unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount --bind "$0" /etc/group && exec "$@"`, groups, program, "run", "-c", d.config, "--instance", d.instance, "--socket", socket)
	log, err := os.Create(d.journal)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	d.command = command
	asRoot := func() error {
		return r.Gateway.Command(context.Background(), program, "status", "--socket", socket).Run()
	}
	eventually(t, 20*time.Second, "the gateway serves", func() bool { return asRoot() == nil })
	ask := func(group int, arguments ...string) (string, error) {
		line := append([]string{"--reuid", "64010", "--regid", "64010", "--groups", fmt.Sprint(group), program}, arguments...)
		out, err := r.Gateway.Command(context.Background(), "setpriv", append(line, "--socket", socket)...).CombinedOutput()
		return string(out), err
	}
	for _, c := range []struct {
		group     int
		arguments string
		refusal   string
	}{
		{read, "status", ""}, {read, "sessions", ""}, {read, "ban list", ""},
		{read, "ban add 203.0.113.7", "this takes the role operate, and you have read: ask as root, or as a member of realmgate-admin or realmgate-operate"},
		{operate, "ban add 203.0.113.7", ""}, {operate, "reload", ""}, {operate, "status", ""},
		{operate, "handover", "this takes the role admin, and you have operate: ask as root, or as a member of realmgate-admin"},
		{stranger, "status", "this takes the role read, and you have none: ask as root, or as a member of realmgate-admin or realmgate-operate or realmgate-read"},
	} {
		out, err := ask(c.group, strings.Fields(c.arguments)...)
		if (err == nil) != (c.refusal == "") || !strings.Contains(out, c.refusal) {
			t.Errorf("group %d, %s: %v, %s", c.group, c.arguments, err, out)
		}
	}
	for _, line := range []string{"msg=command request=\"POST /v1/bans/add\" caller=\"user 64010\" status=403", "msg=command request=\"POST /v1/bans/add\" caller=\"user 64010\" status=200"} {
		if !strings.Contains(d.logged(), line) {
			t.Errorf("the log lacks %q:\n%s", line, d.logged())
		}
	}
}
