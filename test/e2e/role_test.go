package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	d.launch(r.Gateway.Command(context.Background(), "unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount --bind "$0" /etc/group && exec "$@"`, groups, program, "run", "-c", d.config, "--instance", d.instance))
	ask := func(group int, arguments ...string) (string, error) {
		line := append([]string{"--reuid", "64010", "--regid", fmt.Sprint(group), "--clear-groups", program}, arguments...)
		out, err := r.Gateway.Command(context.Background(), "setpriv", append(line, "--instance", d.instance)...).CombinedOutput()
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
	for _, line := range []string{"msg=command path=/v1/bans/add user=64010 status=403", "msg=command path=/v1/bans/add user=64010 status=200"} {
		if !strings.Contains(d.logged(), line) {
			t.Errorf("the log lacks %q:\n%s", line, d.logged())
		}
	}
}
