package zone

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Problem is what is wrong with a file, and where.
type Problem struct {
	File string
	Line int // 0: with the file as a whole
	Text string
}

// Error writes file:line: text.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// lineReader counts lines for the library's parser, which does not say where a
// record stood. The parser reads single octets where it can, and no further
// than the end of the record that it returns.
type lineReader struct {
	r     *bufio.Reader
	ended int  // lines read to their end
	open  bool // within a line
}

// Read is never called, since the parser prefers ReadByte.
func (l *lineReader) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// ReadByte implements io.ByteReader.
func (l *lineReader) ReadByte() (byte, error) {
	c, err := l.r.ReadByte()
	switch {
	case err != nil:
		return 0, err
	case c == '\n':
		l.ended++
		l.open = false
	default:
		l.open = true
	}
	return c, nil
}

// line is the line read last: of a record of several lines, its last.
func (l *lineReader) line() int {
	if l.open {
		return l.ended + 1
	}
	return max(l.ended, 1)
}

// atLine takes the place out of an error of the library's parser, which ends in
// "at line: LINE:COLUMN" and begins with the file.
func atLine(file string, err error) *Problem {
	text, place, found := strings.Cut(err.Error(), " at line: ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, file+": "), "dns: ")
	number, _, _ := strings.Cut(place, ":")
	line, atoi := strconv.Atoi(number)
	if !found || atoi != nil {
		return &Problem{File: file, Text: err.Error()}
	}
	return &Problem{File: file, Line: line, Text: text}
}
