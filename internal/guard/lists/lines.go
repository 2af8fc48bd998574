package lists

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const longestLine = 4096 // bytes, without its end

var errLongLine = fmt.Errorf("the line is longer than %d bytes", longestLine)

// lineReader gives the lines of a text. One that is too long costs no memory.
type lineReader struct {
	r      *bufio.Reader
	number int // of the line that next returned, from 1
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// head returns how the text begins, without the mark of UTF-8 (a "BOM"), which it skips.
func (l *lineReader) head() ([]byte, error) {
	mark := []byte("\xef\xbb\xbf")
	if begin, _ := l.r.Peek(len(mark)); bytes.Equal(begin, mark) {
		_, _ = l.r.Discard(len(mark)) // cannot fail: the bytes are there
	}
	head, err := l.r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// next returns a line without its end, until the next call, and io.EOF after the last.
// After errLongLine it goes on with the line behind it.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.number++
	long := false
	for errors.Is(err, bufio.ErrBufferFull) {
		long = true
		line, err = l.r.ReadSlice('\n')
	}
	switch {
	case errors.Is(err, io.EOF) && (len(line) > 0 || long):
	case err != nil:
		return nil, err
	}
	if line = bytes.TrimRight(line, "\r\n"); long || len(line) > longestLine {
		return nil, errLongLine
	}
	return line, nil
}

// cutComment returns what is before a comment that # or ; begins, or // at the start of
// a word. Between quotes nothing begins one.
func cutComment(line []byte) []byte {
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '#', c == ';', c == '/' && bytes.HasPrefix(line[i+1:], []byte("/")) && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return line[:i]
		}
	}
	return line
}

// capped lets at most so many bytes through, and then fails.
type capped struct {
	r    io.Reader
	left int64
	most int64
}

func newCapped(r io.Reader, most int64) *capped { return &capped{r, most, most} }

// Read returns ErrTooLarge where there is more than may be.
func (c *capped) Read(p []byte) (int, error) {
	// One byte more than is left tells a text that just fits from one that does not.
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, c.most)
	}
	return n, err
}
