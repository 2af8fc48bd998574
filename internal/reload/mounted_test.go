package reload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/config"
)

// A file that is a mount of its own, as containers have it, cannot be replaced: nothing else changes then.
func TestRollbackOfAMountedFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("mounts need root")
	}
	g := newGateway(t)
	g.write(other(60))
	g.must(g.try(0))
	refused := make(chan error)
	go func() { // of a thread that ends with its mounts
		runtime.LockOSThread()
		err := errors.Join(unix.Unshare(unix.CLONE_FS|unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount(g.path, g.path, "", unix.MS_BIND, ""))
		if err == nil {
			_, err = g.rollback(1)
		}
		refused <- err
	}()
	if err := <-refused; !errors.Is(err, unix.EXDEV) || !strings.Contains(err.Error(), "realmgate config show --number 1") {
		t.Errorf("it is told %v", err)
	}
	g.says("afterwards", other(60), other(60))
	if list, _ := g.ConfigHistory(); len(list) != 2 || len(g.kept()) != 0 || g.now.Generation != 2 {
		t.Errorf("generation %d, kept %q, history:\n%s", g.now.Generation, g.kept(), g.how())
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(g.path), ".*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
}

// What somebody writes while a rollback comes into force is kept, too.
func TestWrittenDuringARollback(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.write(other(60))
	g.must(g.try(0))
	put := g.options.Put
	g.options.Put = func(d, filed *config.Document) error {
		g.must(os.WriteFile(g.path+".new", []byte("# mine\n"), 0o600))
		g.must(os.Rename(g.path+".new", g.path))
		return put(d, filed)
	}
	done, err := g.rollback(1)
	if kept := strings.Join(g.kept(), ""); err != nil || len(done.Kept) != 2 || !strings.Contains(kept, "# mine\n") || !strings.Contains(kept, other(60)) {
		t.Errorf("%+v, %v, kept:\n%s", done, err, kept)
	}
	g.says("afterwards", text, text)
}

// What was undone and is neither in the file nor, on a full disk, in the note beside it is noted as soon as there is room: after
// that, who has changed the file starts with that.
func TestNoteOfAnUndoneReloadIsTriedAgain(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		full := func(yes bool) {
			folder := filepath.Dir(g.state)
			if yes {
				g.must(errors.Join(os.Rename(folder, folder+".was"), os.WriteFile(folder, nil, 0o600)))
			} else {
				g.must(errors.Join(os.Remove(folder), os.Rename(folder+".was", folder)))
			}
		}
		for n := range 100 {
			name := g.path + ".kept-" + time.Now().Add(5*time.Second).UTC().Format("20060102T150405Z")
			if n > 0 {
				name = fmt.Sprintf("%s-%d", name, n)
			}
			g.must(os.WriteFile(name, nil, 0o600))
		}
		full(true)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		g.says("undone, and not in the file", other(60), text)
		time.Sleep(3 * tryAgain)
		full(false)
		if r, err := readRecord(g.state); err != nil || r == nil || r.Undone != nil {
			t.Fatalf("the disk has %v, %v", r, err)
		}
		time.Sleep(tryAgain)
		synctest.Wait()
		if r, err := readRecord(g.state); err != nil || r == nil || len(r.Undone) != 1 || string(r.Undone[0].Text) != other(60) {
			t.Fatalf("there is room, and the disk has %v, %v", r, err)
		}
		if g.left.Load() != nil {
			t.Error("it is tried again for ever")
		}
		g.write(other(70))
		g.start()
		g.says("after a restart", other(70), other(70))
	})
}
