package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Between these is what a periodFlag takes.
const (
	leastPeriod = 100 * time.Millisecond
	mostPeriod  = time.Hour
)

// periodFlag is a time that somebody waits; 0 is none.
type periodFlag time.Duration

func (f *periodFlag) String() string {
	if *f == 0 {
		return ""
	}
	return time.Duration(*f).String()
}

func (f *periodFlag) Type() string { return "duration" }

func (f *periodFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < leastPeriod || d > mostPeriod {
		return errors.New("use a time from 100ms to 1h, as 10s")
	}
	*f = periodFlag(d)
	return nil
}

// clearScreen empties a terminal from its first line on.
const clearScreen = "\x1b[H\x1b[2J"

// watch shows something again and again until Ctrl-C, which is how it ends. If it cannot be shown any more, as a gateway starts
// anew, it says so beside what was shown last, and goes on.
func watch(ctx context.Context, stdout, stderr io.Writer, every time.Duration, show func(context.Context, io.Writer) error) error {
	between := "\n"
	if isTerminal(stdout) {
		between = clearScreen
	}
	for first := true; ; first = false {
		var shown bytes.Buffer
		if !first || between == clearScreen {
			shown.WriteString(between)
		}
		err := show(ctx, &shown)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			_, err = fmt.Fprintln(stderr, plain(err.Error()))
		default:
			_, err = shown.WriteTo(stdout)
		}
		if err != nil {
			return written(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}
