package reload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
)

// other is a configuration with another value, and a comment.
func other(rest int) string {
	return strings.Replace(text, "198.18.0.32/28]", fmt.Sprintf("198.18.0.32/28], rest: %ds", rest), 1) + "# other\n"
}

func (g *gateway) try(seconds int) error {
	_, err := g.Reload(api.ReloadRequest{Confirm: seconds, Request: api.Request{By: "user 1"}})
	return err
}

// says is what the file says, and what is in force.
func (g *gateway) says(what, file, inForce string) {
	g.t.Helper()
	there, err := os.ReadFile(g.path)
	g.must(err)
	if string(there) != file {
		g.t.Errorf("%s: the file says:\n%s\nwant:\n%s", what, there, file)
	}
	if is := string(g.now.Document.Files()[0].Text); is != inForce {
		g.t.Errorf("%s: in force is:\n%s\nwant:\n%s", what, is, inForce)
	}
}

// kept are the texts of files that were kept, by their names.
func (g *gateway) kept() []string {
	g.t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(g.path), "*", "*.kept-*"))
	g.must(err)
	more, err := filepath.Glob(filepath.Join(filepath.Dir(g.path), "*.kept-*"))
	g.must(err)
	texts := []string{}
	for _, name := range append(more, names...) {
		text, err := os.ReadFile(name)
		g.must(err)
		texts = append(texts, string(text))
	}
	return texts
}

func (g *gateway) status() (s api.Status) {
	g.t.Helper()
	g.must(g.Report(&s))
	return s
}

// how is what the history says.
func (g *gateway) how() string {
	list, err := g.ConfigHistory()
	g.must(err)
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%d %s by %s", e.Number, e.How, e.By)
		if e.To > 0 {
			fmt.Fprintf(&b, " to %d", e.To)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// inTime runs a service on a clock of the test's.
func inTime(t *testing.T, do func(g *gateway)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = g.Run(ctx) }()
		do(g)
	})
}

// A reload that nobody confirms is undone: in force, in the file, and told with what the file had.
func TestUnconfirmed(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		g.says("before", other(60), other(60))
		if u := g.status().Unconfirmed; u == nil || u.Generation != 2 || u.Seconds != 5 || u.By != "user 1" || u.Back != 1 {
			t.Errorf("status: %+v", u)
		}
		time.Sleep(5*time.Second - time.Millisecond)
		synctest.Wait()
		g.says("just before", other(60), other(60))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		g.says("afterwards", text, text)
		if kept := g.kept(); !slices.Equal(kept, []string{other(60)}) {
			t.Errorf("kept %q", kept)
		}
		s := g.status()
		if s.Unconfirmed != nil || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "realmgate.yaml.kept-20000101T000005Z") {
			t.Errorf("status: %+v, %q", s.Unconfirmed, s.Warnings)
		}
		if want := "1 start by gateway\n2 reload_confirm by user 1\n3 unconfirmed by gateway to 1\n"; g.how() != want {
			t.Errorf("history:\n%s", g.how())
		}
		if want := []string{"reload 2 false", "rolled_back 3 to 1, true false"}; !slices.Equal(g.told, want) {
			t.Errorf("told %q", g.told)
		}
		if log := g.log.String(); !strings.Contains(log, "unconfirmed reload undone") || strings.Contains(log, "error=") {
			t.Errorf("the log says an error where there was none: %s", log)
		}
		if _, err := g.Confirm(api.Request{}); !errors.Is(err, errNothingWaits) {
			t.Errorf("confirmed too late: %v", err)
		}
		g.start()
		g.says("after a restart", text, text)
		g.must(g.try(0))
		if s := g.status(); len(s.Warnings) != 0 {
			t.Errorf("warned of after another reload: %q", s.Warnings)
		}
	})
}

// What is confirmed stays, also over a restart.
func TestConfirm(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		if _, err := g.Confirm(api.Request{Expected: 1}); !errors.As(err, new(api.Stale)) {
			t.Errorf("confirmed for another generation: %v", err)
		}
		if done, err := g.Confirm(api.Request{Expected: 2}); err != nil || done.Generation != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		g.says("afterwards", other(60), other(60))
		if s := g.status(); s.Unconfirmed != nil || len(s.Warnings) != 0 {
			t.Errorf("%+v", s)
		}
		g.must(g.Stop())
		g.start()
		g.says("after a restart", other(60), other(60))
		if want := "1 start by gateway\n2 reload_confirm by user 1\n"; g.how() != want {
			t.Errorf("history:\n%s", g.how())
		}
	})
}

// Whatever ends the process, the next one starts with what was before. A clean stop puts it into the file at once, so that what
// is written after it counts.
func TestProcessEndsBeforeConfirmation(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		g.start() // after kill -9
		g.says("after a crash", text, text)
		if want := "1 start by gateway\n2 reload_confirm by user 1\n3 unconfirmed by gateway to 1\n"; g.how() != want {
			t.Errorf("history:\n%s", g.how())
		}
		if s := g.status(); len(s.Warnings) != 1 || len(g.kept()) != 1 {
			t.Errorf("%q, kept %q", s.Warnings, g.kept())
		}
		g.write(other(61))
		g.must(g.try(5))
		g.must(g.Stop())
		if log := g.log.String(); !strings.Contains(log, "undone for the next start") || strings.Contains(log, "error=") {
			t.Errorf("the log says an error where there was none: %s", log)
		}
		g.says("after a stop", text, other(61))
		g.write(other(62))
		g.start()
		g.says("with what somebody wrote after it", other(62), other(62))
		if kept := g.kept(); !slices.Equal(kept, []string{other(60), other(61)}) {
			t.Errorf("kept %q", kept)
		}
	})
}

// What somebody writes meanwhile is kept, too.
func TestFileIsWrittenMeanwhile(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		folder := filepath.Join(filepath.Dir(g.path), "realmgate.d")
		g.must(os.Mkdir(folder, 0o700))
		g.must(os.WriteFile(filepath.Join(folder, "more.yaml"), []byte("# more\n"), 0o600))
		g.write("not even YAML: [")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		g.says("afterwards", text, text)
		if kept := g.kept(); !slices.Equal(kept, []string{"not even YAML: [", "# more\n"}) {
			t.Errorf("kept %q", kept)
		}
		if d, err := config.Read(g.path); err != nil || len(d.Files()) != 1 {
			t.Errorf("the file has become %+v, %v", d, err)
		}
	})
}

// While a reload waits none takes its place for good by chance. Another one that is to be confirmed may: the same comes back.
func TestSecondReload(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		g.write(other(61))
		if err := g.try(0); err == nil || !strings.Contains(err.Error(), "realmgate confirm") {
			t.Errorf("a second reload: %v", err)
		}
		time.Sleep(4 * time.Second)
		g.must(g.try(5))
		g.says("the second", other(61), other(61))
		g.refuses = errors.New("no room")
		g.write(other(62))
		if err := g.try(50); !errors.Is(err, g.refuses) {
			t.Errorf("a third that fails: %v", err)
		}
		if r, err := readRecord(g.state); err != nil || r == nil || r.Back != 1 {
			t.Errorf("after it %+v comes back, %v", r, err)
		}
		g.refuses = nil
		time.Sleep(4 * time.Second)
		synctest.Wait()
		g.says("after the time of the first", other(62), other(61))
		time.Sleep(time.Second)
		synctest.Wait()
		g.says("after that of the second", text, text)
	})
}

// A hangup is no confirmation.
func TestHangup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(t)
		hangups := make(chan os.Signal, 1)
		g.options.Hangups = hangups
		go func() { _ = g.Run(t.Context()) }()
		g.write(other(60))
		hangups <- syscall.SIGHUP
		synctest.Wait()
		g.says("one", other(60), other(60))
		g.write(other(61))
		g.must(g.try(5))
		hangups <- syscall.SIGHUP
		synctest.Wait()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		g.says("afterwards", other(60), other(60))
		if want := "1 start by gateway\n2 reload by SIGHUP\n3 reload_confirm by user 1\n4 unconfirmed by gateway to 2\n"; g.how() != want {
			t.Errorf("history:\n%s", g.how())
		}
	})
}

// What commands changed before the reload comes back, too, and not into the file.
func TestCommandsComeBack(t *testing.T) {
	inTime(t, func(g *gateway) {
		changed, err := config.NewDocument(g.path, []byte(other(1)))
		g.must(err)
		filed := g.now.Filed
		g.now.Document = changed
		g.write(other(60))
		g.must(g.try(5))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		g.says("afterwards", text, other(1))
		if g.now.Filed != filed {
			t.Error("the file is said to have what commands changed")
		}
	})
}

// What cannot be undone is tried until it can, and may still be confirmed.
func TestUndoFails(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		g.refuses = errors.New("no such interface")
		time.Sleep(7 * time.Second)
		synctest.Wait()
		g.says("in vain", other(60), other(60))
		if s := g.status(); s.Unconfirmed == nil || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "no such interface") {
			t.Errorf("%+v", s)
		}
		g.refuses = nil
		time.Sleep(3 * time.Second)
		synctest.Wait()
		g.says("again", text, text)
	})
}

// Who confirms in time has, though another change takes long.
func TestConfirmWaitsForAnotherChange(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		var confirmed atomic.Bool
		g.changing.Lock()
		time.Sleep(4 * time.Second)
		go func() {
			_, err := g.Confirm(api.Request{})
			confirmed.Store(err == nil)
		}()
		time.Sleep(4 * time.Second)
		g.changing.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		g.says("afterwards", other(60), other(60))
		if !confirmed.Load() {
			t.Error("it was not confirmed")
		}
	})
}

// It counts from when it comes, also where the time is over before it is its turn.
func TestConfirmIsBeforeUndo(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		g.confirming.Add(1)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		g.confirming.Add(-1)
		if _, err := g.Confirm(api.Request{}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		g.says("afterwards", other(60), other(60))
	})
}

// Where the file cannot be written the old configuration is in force even so, also after a restart, until somebody changes the file.
func TestFileCannotBeWritten(t *testing.T) {
	inTime(t, func(g *gateway) {
		g.write(other(60))
		g.must(g.try(5))
		link := g.path + ".link" // a folder in the place of the file cannot be replaced, for root neither
		g.must(os.Rename(g.path, link))
		g.must(os.Mkdir(g.path, 0o700))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if is := string(g.now.Document.Files()[0].Text); is != text {
			t.Fatalf("in force is:\n%s", is)
		}
		if s := g.status(); len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "is undone, but "+g.path+" still has it: ") {
			t.Errorf("%q", s.Warnings)
		}
		g.must(os.Remove(g.path))
		g.must(os.Rename(link, g.path))
		g.start()
		g.says("after a restart", text, text)
	})
}
