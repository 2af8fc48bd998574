package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// How often a progress is shown: on a terminal so that its clock moves, else so
// that a log stays short.
const (
	redrawEvery = time.Second
	lineEvery   = 10 * time.Second
)

// progress shows how far a measurement is: one line that is rewritten on a
// terminal, and now and then a line elsewhere.
type progress struct {
	out   io.Writer
	width int // of the terminal; 0 where there is none
	now   func() time.Time

	mutex  sync.Mutex // the clock's goroutine redraws
	state  bench.Progress
	begun  time.Time // the first trial
	shown  time.Time
	ended  chan struct{}
	ticked sync.WaitGroup
}

func newProgress(out io.Writer, now func() time.Time) *progress {
	p := &progress{out: out, width: terminalWidth(out), now: now, begun: now(), ended: make(chan struct{})}
	if p.width > 0 {
		p.ticked.Go(p.tick)
	}
	return p
}

// tick redraws while a trial goes on, so that nobody thinks that it hangs.
func (p *progress) tick() {
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.mutex.Lock()
			p.redraw()
			p.mutex.Unlock()
		}
	}
}

// show takes what is being done now.
func (p *progress) show(state bench.Progress) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if state.Done == 0 && p.state.Done == 0 {
		p.begun = p.now() // bringing up devices says nothing of the time of trials
	}
	p.state = state
	if p.width > 0 {
		p.redraw()
	} else if now := p.now(); p.shown.IsZero() || now.Sub(p.shown) >= lineEvery {
		p.shown = now
		_, _ = fmt.Fprintf(p.out, "[%d/%d] %s%s\n", state.Done, state.Total, state.What, p.left())
	}
}

// barWidth is that of the bar alone.
const barWidth = 20

func (p *progress) redraw() {
	if p.state.What == "" {
		return
	}
	line := p.state.What + ", " + span(p.now().Sub(p.begun).Seconds()) + p.left()
	if p.state.Total > 0 {
		full := min(barWidth, barWidth*p.state.Done/p.state.Total)
		line = fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), p.state.Done, p.state.Total, line)
	}
	if utf8.RuneCountInString(line) >= p.width { // a broken line could not be rewritten
		line = string([]rune(line)[:p.width-1])
	}
	_, _ = fmt.Fprintf(p.out, "\r%s\x1b[K", line)
}

// left guesses how long it will still take, from the trials that are done.
func (p *progress) left() string {
	if p.state.Done == 0 || p.state.Total <= p.state.Done {
		return ""
	}
	each := p.now().Sub(p.begun).Seconds() / float64(p.state.Done)
	return ", about " + span(each*float64(p.state.Total-p.state.Done)) + " to go"
}

// end takes the line away.
func (p *progress) end() {
	close(p.ended)
	p.ticked.Wait()
	if p.width > 0 {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// terminalWidth is 0 where w is no terminal that can rewrite a line.
func terminalWidth(w any) int {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 { // a terminal that does not know
		return 80
	}
	return int(size.Col)
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}
