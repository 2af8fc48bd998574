package jail

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// hand is a clock that a test moves. A jail that asks for After has read all there was.
type hand struct {
	asked  chan time.Duration
	fire   chan time.Time
	steady chan time.Time // fires when a command has run for steadyTime; nobody is asked

	moving sync.Mutex
	now    time.Time
}

func newHand() *hand {
	return &hand{asked: make(chan time.Duration), fire: make(chan time.Time), steady: make(chan time.Time), now: start}
}

func (h *hand) clock(ctx context.Context) Clock {
	return Clock{
		Now: func() time.Time {
			h.moving.Lock()
			defer h.moving.Unlock()
			return h.now
		},
		After: func(d time.Duration) <-chan time.Time {
			if d == steadyTime {
				return h.steady
			}
			select {
			case h.asked <- d:
			case <-ctx.Done():
			}
			return h.fire
		},
	}
}

// pass lets the time that the jail waits for pass.
func (h *hand) pass(d time.Duration) {
	h.moving.Lock()
	h.now = h.now.Add(d)
	h.moving.Unlock()
	h.fire <- time.Time{}
}

// followed is a file that a follower reads when told.
type followed struct {
	*testing.T
	path    string
	f       *follower
	got     []string
	skipped atomic.Uint64
}

func newFollowed(t *testing.T) *followed {
	t.Helper()
	f := &followed{T: t, path: filepath.Join(t.TempDir(), "log")}
	f.f = newFollower(f.path, func(line []byte) { f.got = append(f.got, string(line)) }, &f.skipped)
	t.Cleanup(f.f.close)
	return f
}

// must ends the test with an error.
func (f *followed) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *followed) write(path, text string) {
	f.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	f.must(err)
	_, err = file.WriteString(text)
	f.must(err)
	f.must(file.Close())
}

// poll wants lines, and words of an error; none if empty.
func (f *followed) poll(fault string, want ...string) {
	f.Helper()
	f.got = nil
	err := f.f.poll(context.Background())
	if (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
		f.Errorf("%v, want %q", err, fault)
	}
	if !slices.Equal(f.got, want) {
		f.Errorf("%q, want %q", f.got, want)
	}
}

func TestAFileIsFollowedFromItsEnd(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.write(f.path, "old\n")
	f.poll("")
	f.write(f.path, "a\nb\npart")
	f.poll("", "a", "b")
	f.poll("")
	f.write(f.path, " of a line\n\x00\xff\n")
	f.poll("", "part of a line", "\x00\xff")
}

// The rest of a line could be text of a stranger that looks like a line.
func TestAFileThatEndsInALineIsFollowedFromTheNext(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.write(f.path, "GET /")
	f.poll("")
	f.write(f.path, "forged\nline\n")
	f.poll("", "line")
}

func TestAMissingFileIsReadFromItsBeginWhenItComes(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.poll("does not exist yet")
	f.poll("does not exist yet")
	f.write(f.path, "first\n")
	f.poll("", "first")
}

func TestWhatIsLeftInARotatedFileIsReadFirst(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.write(f.path, "old\n")
	f.poll("")
	f.write(f.path, "before\n")
	f.must(os.Rename(f.path, f.path+".1"))
	f.poll("is gone", "before")
	f.write(f.path+".1", "still to the old one\n")
	f.write(f.path, "")
	f.poll("", "still to the old one")
	// The writer goes on with the old one until it is told of the new one.
	f.write(f.path+".1", "last\nwithout end")
	f.write(f.path, "first of the new one\n")
	f.poll("", "last", "first of the new one")
	f.write(f.path, "second\n")
	f.poll("", "second")
}

func TestADeletedFileIsReadOnUntilThereIsANewOne(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.write(f.path, "")
	f.poll("")
	writer, err := os.OpenFile(f.path, os.O_APPEND|os.O_WRONLY, 0)
	f.must(err)
	f.must(os.Remove(f.path))
	_, err = writer.WriteString("to nowhere\n")
	f.must(err)
	f.must(writer.Close())
	f.poll("is gone", "to nowhere")
	f.write(f.path, "new\n")
	f.poll("", "new")
}

func TestAFileThatIsCutIsReadFromItsBegin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, after string }{
		{"shorter", "a long line\npart", "new\n"},
		{"longer", "short\n", "new line\nand another\n"},
		{"much longer", "short\n", strings.Repeat("new line\n", chunkSize/4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFollowed(t)
			f.write(f.path, "")
			f.poll("")
			f.write(f.path, c.before)
			_ = f.f.poll(context.Background())
			f.must(os.Truncate(f.path, 0))
			f.write(f.path, c.after)
			f.poll("", strings.Split(strings.TrimSuffix(c.after, "\n"), "\n")...)
		})
	}
}

// A writer that does not append leaves a hole where the file was cut.
func TestAHoleIsSkipped(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.write(f.path, "")
	f.poll("")
	writer, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	f.must(err)
	_, err = writer.WriteString(strings.Repeat("line\n", LongestLine))
	f.must(err)
	_ = f.f.poll(context.Background())
	f.must(os.Truncate(f.path, 0))
	_, err = writer.WriteString("lost\nnew\n")
	f.must(err)
	f.must(writer.Close())
	f.poll("", "new")
	if n := f.skipped.Load(); n != 1 {
		t.Errorf("%d lines skipped", n)
	}
}

func TestLongLinesOfAFileAreSkipped(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.write(f.path, "")
	f.poll("")
	f.write(f.path, strings.Repeat("x", 3*chunkSize)+"\nshort\n")
	f.poll("", "short")
	if n := f.skipped.Load(); n != 1 {
		t.Errorf("%d lines skipped", n)
	}
}

// Neither is read, and to open the pipe would wait for a writer.
func TestOnlyRegularFilesAreFollowed(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.must(syscall.Mkfifo(f.path, 0o600))
	f.poll("no regular file")
	f.must(os.Remove(f.path))
	f.must(os.Mkdir(f.path, 0o700))
	f.poll("no regular file")
	f.must(os.Remove(f.path))
	f.poll("does not exist yet")
	f.write(f.path, "line\n")
	f.poll("", "line")
}

func TestAWatchedFileEndsInOffences(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "auth.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Compile(Options{Name: "ssh", File: path, Patterns: []string{"sshd"}, MaxRetry: 2, FindTime: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var got []Offence
	ctx, cancel := context.WithCancel(t.Context())
	h, done := newHand(), make(chan struct{})
	go func() { defer close(done); w.Run(ctx, h.clock(ctx), func(o Offence) { got = append(got, o) }) }()
	f := &followed{T: t}
	for _, address := range []string{"198.51.100.7", "198.51.100.8", "2001:db8::7", "198.51.100.8", "198.51.100.7", "2001:db8::7", "UNKNOWN"} {
		if d := <-h.asked; d != pollEvery {
			t.Fatalf("the next look is after %v", d)
		}
		line := "Jan  2 15:04:05 gw sshd[4711]: Failed password for %s from %s port 40022 ssh2\n"
		f.write(path, "unrelated\n"+fmt.Sprintf(line, "root from 203.0.113.1 port 22 ssh2", address))
		h.pass(time.Second)
	}
	f.write(path, strings.Repeat("x", LongestLine+1)+"\n")
	<-h.asked
	h.pass(time.Second)
	<-h.asked
	cancel()
	<-done
	text := ""
	for _, o := range got {
		text += fmt.Sprintf("%s %v %d %v-%v\n", o.Jail, o.Address, o.Count, o.First.Sub(start), o.Last.Sub(start))
	}
	if want := "ssh 198.51.100.8 2 2s-4s\nssh 2001:db8::7 2 3s-6s\n"; text != want {
		t.Errorf("%swant\n%s", text, want)
	}
	if got, want := w.Status(), (Status{Lines: 14, Skipped: 1, Failures: 6, NoAddress: 1, Offences: 2, Reads: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
