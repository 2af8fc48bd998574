package events

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
)

// This program is also the command that tests write to: its first argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "as-command" {
		syscall.Exit(asCommand(os.Args[2], os.Args[3])) // os.Exit takes a second with the race detector
	}
	os.Exit(m.Run())
}

// asCommand does what a test wants; it writes to the file at path what it was given.
func asCommand(does, path string) int {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 9
	}
	switch does {
	case "copy":
		_, _ = io.Copy(file, os.Stdin)
		_, _ = file.WriteString("end\n")
	case "once": // takes a line, and ends
		line, _ := bufio.NewReaderSize(os.Stdin, 16).ReadString('\n')
		_, _ = file.WriteString(line)
		fmt.Fprint(os.Stderr, "first\nlast \x1b[31mwords\n")
		return 3
	case "fail":
		return 4
	case "never": // reads nothing, not even the end
		_, _ = fmt.Fprintln(file, os.Getpid())
		for {
			time.Sleep(time.Hour)
		}
	}
	return 0
}

func commandThat(t *testing.T, does string) (c *command, path string) {
	path = filepath.Join(t.TempDir(), "out")
	return &command{argv: []string{os.Args[0], "as-command", does, path}, stall: stallTime}, path
}

func TestCommandReadsLinesAndSeesTheEnd(t *testing.T) {
	t.Parallel()
	c, path := commandThat(t, "copy")
	mustTake(t, c)
	mustTake(t, c, "a", "$(touch /x); 'b'")
	mustTake(t, c, strings.Repeat("x", 200_000)) // more than a pipe holds
	if err := c.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, path, "a\n$(touch /x); 'b'\n"+strings.Repeat("x", 200_000)+"\nend\n")
}

// mustEnd waits until the program has ended.
func mustEnd(t *testing.T, c *command) {
	t.Helper()
	select {
	case <-c.ended():
	case <-time.After(20 * time.Second):
		t.Fatal("the command goes on")
	}
}

// A program that ends is started again, and what it had not taken whole goes to the next.
func TestCommandThatEnds(t *testing.T) {
	t.Parallel()
	c, path := commandThat(t, "once")
	mustTake(t, c, "a")
	mustEnd(t, c)
	if n, err := offer(t, c, "b"); n != 0 || err == nil || err.Error() != "the command ended: exit status 3: last ?[31mwords" {
		t.Errorf("%d lines: %v", n, err)
	}
	mustTake(t, c, "b")
	mustEnd(t, c)
	_ = c.end()
	mustHold(t, path, "a\nb\n")
	// It ends in the middle of a line.
	long := strings.Repeat("x", 1<<20)
	if n, err := offer(t, c, "c", long); n != 1 || err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%d lines: %v", n, err)
	}
	if c.ended() != nil {
		t.Error("who does not run could end")
	}
	mustTake(t, c, "d")
	mustEnd(t, c)
	_ = c.close(t.Context())
	mustHold(t, path, "a\nb\nc\nd\n")
}

// A sink whose command ends at once, or is not there, loses nothing that was not given to
// it, says what is wrong also where there is no event, and ends.
func TestCommandThatIsOfNoUse(t *testing.T) {
	t.Parallel()
	ends, _ := commandThat(t, "fail")
	for want, argv := range map[string][]string{
		"the command ended: exit status 4":            ends.argv,
		"the command does not start: fork/exec /none": {"/none"},
		"fork/exec /: permission denied":              {"/"},
	} {
		asked, release := make(chan time.Duration), make(chan time.Time)
		s := newSink(Options{Name: "a"}, quiet)
		s.after = func(d time.Duration) <-chan time.Time { asked <- d; return release }
		ctx, cancel := context.WithCancel(t.Context())
		go s.run(ctx, &command{argv: argv, stall: stallTime})
		for range 2 {
			<-asked
			release <- time.Time{}
		}
		<-asked
		s.mutex.Lock()
		failures, fault := s.failures, s.fault
		s.mutex.Unlock()
		if failures != 3 || !strings.Contains(fault, want) {
			t.Errorf("%d failures, %q, want %q", failures, fault, want)
		}
		s.put(&record{event: event.Stop{}}, false)
		cancel()
		<-s.over
		if s.queue.lost != 1 || s.queue.delivered != 0 {
			t.Errorf("%+v", s.queue)
		}
	}
}

// Who reads nothing fills the pipe and then the queue, is told of, and is killed at the end.
func TestCommandThatNeverReads(t *testing.T) {
	t.Parallel()
	c, path := commandThat(t, "never")
	c.stall = time.Millisecond
	s := newSink(Options{Name: "a"}, quiet)
	h := &Hub{Log: quiet}
	h.sinks = []*sink{h.launch(s, c)}
	long := event.ListFailed{Error: strings.Repeat("x", 1000)}
	deadline := time.Now().Add(20 * time.Second)
	for {
		h.Emit(long)
		if state := h.Status()[0]; state.Lost > 0 && state.Error == "the command has read nothing for 1ms" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", h.Status())
		}
		time.Sleep(time.Microsecond)
	}
	var process int
	for process == 0 && time.Now().Before(deadline) { // it may only begin
		text, _ := os.ReadFile(path)
		_, _ = fmt.Sscan(string(text), &process)
	}
	emitted := h.sequence
	h.Close(event.Stop{})
	if err := syscall.Kill(process, 0); process == 0 || err == nil {
		t.Errorf("process %d is left: %v", process, err)
	}
	if state := h.Status()[0]; state.Queued != 0 || state.Delivered+state.Lost != emitted+1 {
		t.Errorf("emitted %d: %+v", emitted+1, state)
	}
}
