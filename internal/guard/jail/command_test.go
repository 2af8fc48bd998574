package jail

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// No shell sees the arguments: each arrives as it is.
func TestArgumentsArriveAsTheyAre(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	args := []string{"a  b", "$(touch " + made + ")", "`touch " + made + "`; touch " + made, "*", "", "$HOME", "'"}
	if got := run(t, append([]string{"print"}, args...)...).all(); !slices.Equal(got, args) {
		t.Errorf("%q, want %q", got, args)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("a shell ran")
	}
}

// What the log says is never executed: it is an address, or nothing.
func TestProtectionRule9_LinesAreOnlyRead(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	w, err := Compile(Options{
		Name: "w", Patterns: []string{`^from <ADDRESS>`}, MaxRetry: 1, FindTime: time.Minute,
		Command: []string{os.Args[0], "as-command", "print", "from 203.0.113.7;touch " + made, "from $(touch " + made + ")", "from 203.0.113.8`touch " + made + "`"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h, done, got := newHand(), make(chan struct{}), ""
	go func() {
		defer close(done)
		w.Run(ctx, h.clock(ctx), func(o Offence) { got += o.Address.String() + " " })
	}()
	<-h.asked
	cancel()
	<-done
	if got != "203.0.113.7 203.0.113.8 " {
		t.Errorf("offences of %q", got)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("a shell ran")
	}
}

func TestTheCommandsSurroundingsAreNotTheDaemons(t *testing.T) {
	t.Setenv("TOKEN", "secret")
	got := run(t, "surroundings").all()
	want := []string{"/", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "EOF"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestACommandThatEndsIsStartedAgainAfterLongerAndLongerTimes(t *testing.T) {
	t.Parallel()
	r := run(t, "fail")
	var got []time.Duration
	for range 8 {
		d := <-r.asked
		got = append(got, d/time.Second)
		r.pass(d)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}; !slices.Equal(got, want) {
		t.Errorf("starts after %d s, want %d s", got, want)
	}
	<-r.asked
	s := r.Status()
	if s.Ends != 9 || s.Error != "the command ended: exit status 3" || s.Stderr != "last ?[31mwords" {
		t.Errorf("%+v", s)
	}
}

func TestACommandThatLastedIsStartedAgainSoon(t *testing.T) {
	t.Parallel()
	path, accept := socket(t)
	r := run(t, "hold", path)
	for i, lasts := range []time.Duration{0, 0, time.Hour} {
		c := accept()["hold"]
		r.moving.Lock()
		r.now = r.now.Add(lasts)
		r.moving.Unlock()
		_ = c.Close()
		if got, want := <-r.asked, []time.Duration{1, 2, 1}[i]*time.Second; got != want {
			t.Errorf("a run of %v is followed by one after %v, want %v", lasts, got, want)
		}
		r.fire <- time.Time{}
	}
}

func TestAnErrorIsOverWithTheNextLine(t *testing.T) {
	t.Parallel()
	path, accept := socket(t)
	r := run(t, "hold", path)
	<-r.lines
	_ = accept()["hold"].Close()
	<-r.asked
	if s := r.Status(); s.Error != "the command ended: exit status 0" {
		t.Errorf("%+v", s)
	}
	r.fire <- time.Time{}
	<-r.lines
	if s := r.Status(); s.Error != "" || !s.Reads || s.Ends != 1 {
		t.Errorf("%+v", s)
	}
}

// A log may have no line for days.
func TestAnErrorIsOverWithARunThatLasts(t *testing.T) {
	t.Parallel()
	path, accept := socket(t)
	r := run(t, "quiet", path)
	_ = accept()["quiet"].Close()
	<-r.asked
	if s := r.Status(); s.Error != "the command ended: exit status 0" || s.Reads {
		t.Errorf("%+v", s)
	}
	r.fire <- time.Time{}
	accept()
	if s := r.Status(); s.Error == "" || s.Reads {
		t.Errorf("as soon as it is started again: %+v", s)
	}
	r.steady <- time.Time{}
	r.steady <- time.Time{} // is taken when the first was seen to
	if s := r.Status(); s.Error != "" || !s.Reads || s.Lines != 0 {
		t.Errorf("%+v", s)
	}
}

func TestACommandThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	w, err := Compile(Options{Name: "w", Command: []string{"/nowhere/program"}, Patterns: []string{"sshd"}, MaxRetry: 1, FindTime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	h, done := newHand(), make(chan struct{})
	go func() { defer close(done); w.Run(ctx, h.clock(ctx), nil) }()
	<-h.asked
	cancel()
	<-done
	if s := w.Status(); !strings.Contains(s.Error, "does not start: ") || !strings.Contains(s.Error, "/nowhere/program") {
		t.Errorf("%+v", s)
	}
}

func TestTheProcessGroupEndsWithTheJail(t *testing.T) {
	t.Parallel()
	path, accept := socket(t)
	r := run(t, "family", path)
	accept()
	for _, c := range accept() {
		defer gone(t, c)
	}
	r.cancel()
	<-r.done
}

// Also while what is left keeps the output open.
func TestWhatACommandLeavesBehindEndsWithIt(t *testing.T) {
	t.Parallel()
	path, accept := socket(t)
	r := run(t, "leave", path)
	accept()
	met := accept()
	_ = met["leave"].Close()
	if got := r.all(); !slices.Equal(got, []string{"holds"}) || r.Status().Error != "the command ended: exit status 4" {
		t.Errorf("%q, %+v", got, r.Status())
	}
	gone(t, met["hold"])
}

// A process that leaves the group and keeps the pipe open holds nobody up.
func TestAnEscapedProcessDoesNotHoldTheJailUp(t *testing.T) {
	t.Parallel()
	path, accept := socket(t)
	r := run(t, "daemon", path)
	accept()
	met := accept()
	r.cancel()
	<-r.done
	gone(t, met["daemon"])
	_ = met["hold"].Close() // and ends it
}

func TestACommandThatClosesItsOutputHasEnded(t *testing.T) {
	t.Parallel()
	path, accept := socket(t)
	r := run(t, "silent", path)
	met := accept()
	<-r.asked
	gone(t, met["silent"])
	if s := r.Status(); s.Error != "the command ended: signal: killed" {
		t.Errorf("%+v", s)
	}
}

func TestACommandThatFloodsIsBounded(t *testing.T) {
	t.Parallel()
	r := run(t, "flood")
	if got := <-r.lines; got != "short" || r.Status().Skipped < 2 {
		t.Errorf("%.20q, %+v", got, r.Status())
	}
	r.cancel()
	<-r.done
}
