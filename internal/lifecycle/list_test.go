package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

var errFails = errors.New("it fails")

// house is three services that tell what is done to them; fail is the step that fails, such as "commit b".
type house struct {
	fail string
	did  []string
}

func (h *house) do(what, name string) error {
	step := what + " " + name
	h.did = append(h.did, step)
	if step == h.fail {
		return errFails
	}
	return nil
}

func (h *house) list() (l List[string, *[]string]) {
	for _, name := range []string{"a", "b", "c"} {
		l = append(l, Service[string, *[]string]{
			Name: name,
			Prepare: func(draft string) (Change, error) {
				return Change{
					Commit:   func() error { return h.do("commit", name) },
					Rollback: func() error { return h.do("rollback", name) },
					Settle:   func() { _ = h.do("settle", name) },
					Discard:  func() { _ = h.do("discard", name) },
				}, h.do("prepare", name+draft)
			},
			Report: func(status *[]string) error { *status = append(*status, name); return h.do("report", name) },
			Stop:   func() error { return h.do("stop", name) },
		}, Service[string, *[]string]{Name: name + " has nothing to do"})
	}
	return l
}

// A change comes into force whole. Whatever step fails, all that was committed before is rolled back, the last first, and
// all that was prepared is discarded.
func TestApply(t *testing.T) {
	const prepared = "prepare a, prepare b, prepare c, "
	for fail, want := range map[string]string{
		"":          prepared + "commit a, commit b, commit c, settle c, settle b, settle a",
		"prepare a": "prepare a",
		"prepare b": "prepare a, prepare b, discard a",
		"prepare c": "prepare a, prepare b, prepare c, discard b, discard a",
		"commit a":  prepared + "commit a, discard c, discard b, discard a",
		"commit b":  prepared + "commit a, commit b, rollback a, discard c, discard b, discard a",
		"commit c":  prepared + "commit a, commit b, commit c, rollback b, rollback a, discard c, discard b, discard a",
	} {
		h := &house{fail: fail}
		err := h.list().Apply("")
		if got := strings.Join(h.did, ", "); got != want {
			t.Errorf("%q fails: %s\nwant %s", fail, got, want)
		}
		if errors.Is(err, errFails) != (fail != "") {
			t.Errorf("%q fails, and the change ended with %v", fail, err)
		}
		if rolled := err != nil && strings.Contains(err.Error(), "rolled back"); rolled != strings.HasPrefix(fail, "commit") {
			t.Errorf("%q fails, and the change ended with %v", fail, err)
		}
	}
}

// A start that fails has stopped all services, the last first, and says no more than why.
func TestStart(t *testing.T) {
	const stopped, prepared = "stop c, stop b, stop a", "prepare a, prepare b, prepare c, "
	for fail, want := range map[string]string{
		"":          prepared + "commit a, commit b, commit c, settle c, settle b, settle a",
		"prepare b": "prepare a, prepare b, discard a, " + stopped,
		"commit b":  prepared + "commit a, commit b, rollback a, discard c, discard b, discard a, " + stopped,
	} {
		h := &house{fail: fail}
		err := h.list().Start("")
		if got := strings.Join(h.did, ", "); got != want {
			t.Errorf("%q fails: %s\nwant %s", fail, got, want)
		}
		if (err != nil) != (fail != "") || err != nil && err.Error() != errFails.Error() {
			t.Errorf("%q fails, and the start ended with %v", fail, err)
		}
	}
}

// A start opens what is to be opened, and prepares what is not; a change prepares all.
func TestOpen(t *testing.T) {
	h := &house{}
	all := h.list()
	all[2].Open = func(string) (Change, error) {
		return Change{Commit: func() error { return h.do("commit", "open b") }}, h.do("open", "b")
	}
	if err := all.Start(""); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(h.did, ", "), "prepare a, open b, prepare c, commit a, commit open b, commit c, settle c, settle a"; got != want {
		t.Errorf("a start: %s\nwant %s", got, want)
	}
	h.did = nil
	if err := all.Apply(""); err != nil || strings.Contains(strings.Join(h.did, ", "), "open") {
		t.Errorf("a change: %q, %v", h.did, err)
	}
}

// A rollback goes on where one of it fails, and both errors are told.
func TestRollbackGoesOn(t *testing.T) {
	h := &house{fail: "rollback b"}
	l := h.list()
	last := errors.New("the last fails")
	l = append(l, Service[string, *[]string]{Prepare: func(string) (Change, error) {
		return Change{Commit: func() error { return last }}, nil
	}})
	if err := l.Apply(""); !errors.Is(err, last) || !errors.Is(err, errFails) {
		t.Errorf("the change ended with %v", err)
	}
	if want := []string{"rollback c", "rollback b", "rollback a"}; !slices.Equal(h.did[6:9], want) {
		t.Errorf("done were %q", h.did)
	}
}

// A draft that changes what only a restart can is told of by all whose keys those are.
func TestImmutable(t *testing.T) {
	fixed := func(keys ...string) Service[string, int] {
		return Service[string, int]{Immutable: func(string) []string { return keys }}
	}
	l := List[string, int]{fixed("a", "b"), {}, fixed(), fixed("c")}
	if got := l.Immutable(""); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("fixed are %q", got)
	}
}

// One that fails ends all others, and its name is told; what ends by itself ends nobody.
func TestRun(t *testing.T) {
	ended := make(chan string, 2)
	follow := func(name string) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); ended <- name; return nil }
	}
	fails := Service[int, int]{Name: "bad", Run: func(context.Context) error { return errFails }}
	l := List[int, int]{{Name: "a", Run: follow("a")}, {Name: "short", Run: func(context.Context) error { return nil }}, {}, {Name: "b", Run: follow("b")}}
	if err := append(l, fails).Run(t.Context()); !errors.Is(err, errFails) || err.Error() != "bad: it fails" {
		t.Errorf("the services ended with %v", err)
	}
	if a, b := <-ended, <-ended; a == b {
		t.Errorf("%s ended twice", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx); err != nil || len(ended) != 2 {
		t.Errorf("without a failure they ended with %v, and %d of 2", err, len(ended))
	}
}

// A status has what each says, in order; the first error ends it.
func TestReport(t *testing.T) {
	var status []string
	if err := (&house{}).list().Report(&status); err != nil || !slices.Equal(status, []string{"a", "b", "c"}) {
		t.Errorf("the status is %q, %v", status, err)
	}
	status = nil
	if err := (&house{fail: "report b"}).list().Report(&status); !errors.Is(err, errFails) || len(status) != 2 {
		t.Errorf("the status is %q, %v", status, err)
	}
}

// The last is stopped first, and all are, whatever fails.
func TestStop(t *testing.T) {
	for _, fail := range []string{"", "stop a", "stop b", "stop c"} {
		h := &house{fail: fail}
		err := h.list().Stop()
		if got := strings.Join(h.did, ", "); got != "stop c, stop b, stop a" || errors.Is(err, errFails) != (fail != "") {
			t.Errorf("%q fails: %s, %v", fail, got, err)
		}
	}
}
