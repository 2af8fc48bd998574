package events

import (
	"os"
	"strings"
	"unicode"
)

// longestWords is how much of what a program said last is kept, in bytes.
const longestWords = 256

// lastLine is the last line that a program writes to a pipe.
type lastLine struct {
	over chan struct{}
	text []byte
}

// followLast reads until the pipe ends, or its deadline.
func followLast(pipe *os.File) *lastLine {
	l := &lastLine{over: make(chan struct{})}
	go func() {
		defer close(l.over)
		chunk := make([]byte, 4096)
		for {
			n, err := pipe.Read(chunk)
			l.text = append(l.text, chunk[:n]...)
			l.text = append([]byte(nil), l.text[max(0, len(l.text)-longestWords):]...)
			if err != nil {
				return
			}
		}
	}()
	return l
}

// wait returns the line, fit for a terminal, when the pipe has ended.
func (l *lastLine) wait() string {
	<-l.over
	text := strings.TrimRight(string(l.text), "\r\n")
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
}
