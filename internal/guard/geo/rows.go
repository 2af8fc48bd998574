package geo

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

const longestRow = 4096 // bytes

// rows reads a text file line by line and sums it.
type rows struct {
	name string
	in   *bufio.Reader
	sum  hash.Hash
	line int // from 1
	left int // bytes that it may still have
	data int // lines with a range
	odd  int // of them, those not taken as they are

	firstOdd error
}

func newRows(r io.Reader, name string) *rows {
	sum := sha256.New()
	return &rows{name: name, in: bufio.NewReaderSize(io.TeeReader(r, sum), longestRow), sum: sum, left: mostSource}
}

// next returns a line without its end, until the next call. After the last it returns io.EOF.
func (s *rows) next() ([]byte, error) {
	text, err := s.in.ReadSlice('\n')
	s.line++
	if s.left -= len(text); s.left < 0 {
		return nil, s.errorf("the file is larger than %d bytes", mostSource)
	}
	switch {
	case err == nil:
		return text[:len(text)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, s.errorf("the line is longer than %d bytes", longestRow)
	case !errors.Is(err, io.EOF):
		return nil, s.errorf("%w", err)
	case len(text) > 0 && text[0] != '<':
		return nil, s.errorf("the file ends within a line: it is not complete")
	case len(text) > 0:
		return text, nil
	}
	return nil, io.EOF
}

// count is called for each line with a range.
func (s *rows) count() error {
	if s.data++; s.data > mostRows {
		return s.errorf("the file has more than %d ranges", mostRows)
	}
	return nil
}

// strange is called for each line that is not taken as it is.
func (s *rows) strange(format string, args ...any) {
	if s.odd++; s.odd == 1 {
		s.firstOdd = s.errorf(format, args...)
	}
}

func (s *rows) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", s.name, s.line, fmt.Errorf(format, args...))
}

// noRange is the error of a line that is none, as of a page in place of the file.
func (s *rows) noRange(text []byte, want string) error {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return s.errorf("this is a web page, want %s", want)
	}
	return s.errorf("want %s, not %s", want, quote(text))
}

// done completes what is said of the source.
func (s *rows) done(from Source) (Source, error) {
	if s.data == 0 {
		return from, fmt.Errorf("%s has no ranges", s.name)
	}
	if s.odd*rowsPerOdd > s.data {
		return from, s.firstOdd
	}
	from.Rows, from.Odd, from.SHA256 = s.data, s.odd, hex.EncodeToString(s.sum.Sum(nil))
	return from, nil
}

// take reads a range into a layer.
func take[A address[A], V comparable](s *rows, d *draft[A, V], first, last []byte, parse func([]byte) (A, error), v V) error {
	a, err := parse(first)
	if err != nil {
		return s.errorf("%w", err)
	}
	z, err := parse(last)
	if err != nil {
		return s.errorf("%w", err)
	}
	if z.less(a) {
		return s.errorf("the range ends at %s, before it begins", last)
	}
	if !d.add(a, z, v) {
		s.strange("%s is in a range above, or before one", first)
		if !d.full && !z.less(d.free) {
			d.add(d.free, z, v)
		}
	}
	return nil
}
