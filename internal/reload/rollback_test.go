package reload

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

func (g *gateway) rollback(number int) (api.RolledBack, error) {
	return g.Rollback(api.RollbackRequest{Number: number, Request: api.Request{By: "user 0"}})
}

// An earlier configuration comes back whole: comments, the folder's files, and none that were not there.
func TestRollback(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	folder := filepath.Join(filepath.Dir(g.path), "realmgate.d")
	shop, more := filepath.Join(folder, "shop.yaml"), filepath.Join(folder, "more.yaml")
	const hosts = "hosts: # of the shop\n  - {name: hostb.foo.example., address: 10.0.0.101, open: [tcp/443]}\n"
	g.must(os.Mkdir(folder, 0o700))
	g.must(os.WriteFile(shop, []byte(hosts), 0o640))
	g.must(os.Chmod(g.path, 0o640))
	g.must(g.try(0)) // 2
	g.must(os.Remove(shop))
	g.must(os.WriteFile(more, []byte("timeouts: {udp: 200s}\n"), 0o600))
	g.write(other(60))
	g.must(g.try(0)) // 3
	g.write("# not in force\n")
	done, err := g.rollback(2)
	if err != nil || done.Generation != 4 || done.Hosts != 2 || len(done.Kept) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	g.says("2", text, text)
	if back, err := os.ReadFile(shop); err != nil || string(back) != hosts {
		t.Errorf("%q, %v", back, err)
	}
	if info, err := os.Stat(shop); err != nil || info.Mode() != 0o640 {
		t.Errorf("it has mode %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(more); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was not there then is: %v", err)
	}
	if kept := g.kept(); !slices.Equal(kept, []string{"# not in force\n", "timeouts: {udp: 200s}\n"}) {
		t.Errorf("kept %q", kept)
	}
	if c, err := g.Config(3); err != nil || len(c.Files) != 2 || c.Files[0].Text != other(60) {
		t.Errorf("%+v, %v", c, err)
	}
	if want := "1 start by gateway\n2 reload by user 1\n3 reload by user 1\n4 rollback by user 0 to 2\n"; g.how() != want {
		t.Errorf("history:\n%s", g.how())
	}
	if left, err := readRecord(g.state); err != nil || left != nil {
		t.Errorf("%+v, %v", left, err)
	}
	g.start()
	g.says("after a restart", text, text)
	if list, _ := g.ConfigHistory(); len(list) != 4 {
		t.Errorf("a start of the same is in the history:\n%s", g.how())
	}
}

// What does not come into force leaves file and history as they are.
func TestRollbackIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.write(other(60))
	g.must(g.try(0))
	for want, prepare := range map[string]func() int{
		"no such interface":         func() int { g.refuses = errors.New("no such interface"); return 1 },
		"the history has no 7":      func() int { return 7 },
		"capacity changed: restart": func() int { g.immutable = []string{"capacity"}; return 1 },
		"realmgate config show --number 1": func() int {
			g.must(os.Mkdir(g.path+".d", 0o700))
			g.must(os.Rename(g.path, g.path+".d/a"))
			g.must(os.Mkdir(g.path, 0o700))
			return 1
		},
	} {
		if done, err := g.rollback(prepare()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v, %v, want %s", done, err, want)
		}
		if strings.Contains(want, "--number") {
			g.must(os.Remove(g.path))
			g.must(os.Rename(g.path+".d/a", g.path))
		}
		g.refuses, g.immutable = nil, nil
		g.says(want, other(60), other(60))
		if list, _ := g.ConfigHistory(); len(list) != 2 || len(g.kept()) != 0 {
			t.Errorf("%s: history:\n%s", want, g.how())
		}
		if left, err := readRecord(g.state); err != nil || left != nil {
			t.Errorf("%s: %+v, %v", want, left, err)
		}
	}
	if _, err := g.Rollback(api.RollbackRequest{Number: 1, Request: api.Request{Expected: 1}}); !errors.As(err, new(api.Stale)) {
		t.Errorf("made for another generation: %v", err)
	}
}

// A rollback is what somebody wants: nothing is undone after it. One that fails leaves what waits waiting.
func TestRollbackWhileAReloadWaits(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(0)) // 2
		g.write(other(61))
		g.must(g.try(5)) // 3, and 2 comes back
		g.refuses = errors.New("no such interface")
		if _, err := g.rollback(1); !errors.Is(err, g.refuses) {
			t.Error(err)
		}
		g.refuses = nil
		if r, err := readRecord(g.state); err != nil || r == nil || r.Back != 2 {
			t.Errorf("what comes back is %+v, %v", r, err)
		}
		if _, err := g.rollback(1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		g.says("afterwards", text, text)
	})
}

// The history is bounded, its numbers go on, and what cannot be read in it is left out.
func TestHistory(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for i := range 30 {
		g.write(other(60 + i))
		g.must(g.try(0))
		g.must(g.try(0)) // the same again
	}
	list, err := g.ConfigHistory()
	if err != nil || len(list) != mostEntries || list[0].Number != 12 || list[mostEntries-1].Number != 31 || len(g.store) != mostEntries {
		t.Fatalf("%d, %v, %d are kept:\n%s", len(list), err, len(g.store), g.how())
	}
	g.store[keyOf(20)] = []byte("{")
	g.start()
	if list, _ := g.ConfigHistory(); len(list) != mostEntries-1 {
		t.Errorf("%d:\n%s", len(list), g.how())
	}
	if _, err := g.Config(20); err == nil {
		t.Error("it can be read even so")
	}
	g.now.Filed = g.now.Document
	g.write(other(5)) // by somebody, beside what commands saved
	g.Saved("user 2")
	if list, _ := g.ConfigHistory(); len(list) != mostEntries-1 {
		t.Errorf("what says the same is there twice:\n%s", g.how())
	}
	if _, err := g.rollback(25); err != nil {
		t.Error(err)
	}
	g.says("25", other(60+25-2), other(60+25-2))
	if list, _ := g.ConfigHistory(); list[len(list)-1].Number != 32 || list[len(list)-1].How != api.HowRollback {
		t.Errorf("history:\n%s", g.how())
	}
}
