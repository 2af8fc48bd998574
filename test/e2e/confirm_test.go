package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// lockedOut is a gateway on which a reload has closed a service, for so long, and somebody who was told its address before.
func lockedOut(t *testing.T, confirm string) (r *realm, d *daemon, good, bad string) {
	t.Helper()
	r = newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	good = "# ours\n" + r.configuration()
	d = r.start(good)
	r.mustReach(r.Clients[0], 0)
	bad = without(good, "echo."+hostName(0))
	d.write(bad)
	if out, err := d.tell("reload", "--confirm", confirm); err != nil || !strings.Contains(out, "realmgate confirm") {
		t.Fatalf("%v: %s", err, out)
	}
	if address, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(0)); err == nil {
		t.Fatalf("a service that is closed got %s", address)
	}
	return r, d, good, bad
}

// isBack wants the configuration from before in force and in the file, and what the file had beside it.
func (d *daemon) isBack(good, bad string) {
	d.t.Helper()
	if text, err := os.ReadFile(d.config); err != nil || string(text) != good {
		d.t.Errorf("%v: the file has:\n%s", err, text)
	}
	if out, err := d.tell("config", "show"); err != nil || out != good {
		d.t.Errorf("%v: in force is:\n%s", err, out)
	}
	kept, _ := filepath.Glob(d.config + ".kept-*")
	if len(kept) != 1 {
		d.t.Fatalf("%d files are kept: %q", len(kept), kept)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != bad {
		d.t.Errorf("%v: kept is:\n%s", err, text)
	}
	if d.warning(kept[0]) == "" || d.status().Unconfirmed != nil {
		d.t.Errorf("%+v, %q", d.status().Unconfirmed, d.status().Warnings)
	}
	if out, err := d.tell("config", "history"); err != nil || !strings.Contains(out, "reload not confirmed: back to 1, and kept "+kept[0]) {
		d.t.Errorf("%v: %s", err, out)
	}
}

// A reload that locks people out is undone, and they get through again.
func TestReloadIsUndoneUnlessConfirmed(t *testing.T) {
	t.Parallel()
	r, d, good, bad := lockedOut(t, "5s")
	generation := d.status().Generation
	out, err := d.tell("status")
	if err != nil || d.status().Unconfirmed == nil || !strings.Contains(out, "unless this follows: realmgate confirm") {
		t.Errorf("%v: %s", err, out)
	}
	eventually(t, 30*time.Second, "the reload is undone", func() bool { return d.status().Unconfirmed == nil })
	if now := d.status().Generation; now != generation+1 {
		t.Errorf("generation %d after %d", now, generation)
	}
	r.mustReach(r.Clients[0], 0)
	d.isBack(good, bad)
	if out, err := d.tell("confirm"); err == nil || !strings.Contains(out, "no reload waits") {
		t.Errorf("%v: %s", err, out)
	}

	// What is confirmed stays, and a rollback brings back what there was.
	d.write(bad)
	if out, err := d.tell("reload", "--confirm", "2s"); err != nil {
		t.Fatal(out)
	}
	if out, err := d.tell("confirm"); err != nil {
		t.Fatal(out)
	}
	d.stop()
	d.run()
	if address, err := lent(r.Clients[0], r.Gateway, "echo."+hostName(0)); err == nil {
		t.Errorf("a service that is closed got %s", address)
	}
	if out, err := d.tell("config", "rollback", "1"); err != nil || !strings.Contains(out, "the configuration of 1\nkept what it replaces: ") {
		t.Errorf("%v: %s", err, out)
	}
	r.mustReach(r.Clients[0], 0)
	if text, err := os.ReadFile(d.config); err != nil || string(text) != good {
		t.Errorf("%v: the file has:\n%s", err, text)
	}
	if out, err := d.tell("config", "show", "--number", "2"); err != nil || out != bad {
		t.Errorf("%v: the second was\n%s", err, out)
	}
}

// So they do when the daemon is killed in between, whether or not the time was over.
func TestKillUndoesAnUnconfirmedReload(t *testing.T) {
	t.Parallel()
	r, d, good, bad := lockedOut(t, "1h")
	d.kill()
	d.run()
	if !d.status().Adopted {
		t.Error("nothing was adopted")
	}
	r.mustReach(r.Clients[0], 0)
	d.isBack(good, bad)
}
