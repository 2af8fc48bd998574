package lists

import (
	"errors"
	"fmt"
)

// Why a list is refused. The copy before it stays in force.
var (
	ErrNoList    = errors.New("this is no list of addresses")
	ErrEmpty     = errors.New("the list has no entry")
	ErrTooLarge  = errors.New("the list is too large")
	ErrTooFaulty = errors.New("too many lines of the list are wrong")
	ErrTooWide   = errors.New("the list covers too much of the Internet")
	ErrShrunk    = errors.New("the list has shrunk")
)

// ErrUnsaved is of a list that is in force and could not be written to the disk, so that a
// start would begin with an earlier copy.
var ErrUnsaved = errors.New("the copy in force is not on the disk")

// LineError is a line that cannot be read.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }
