package datapath

import (
	"errors"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"
)

const (
	lookSoon = 10 * time.Millisecond
	lookLate = time.Second
)

// looker reads a ring of which it is woken once in 4 ms, and not for each record (claim_wakes of bpf/pool/reservation.h):
// it looks by itself, soon again while records come, else once a second, should a CPU that told of one have been held up.
type looker struct {
	reader *ringbuf.Reader
	soon   bool // it looks soon
	came   bool // a record has since it looked
}

func newLooker(reader *ringbuf.Reader) *looker {
	reader.SetDeadline(time.Now().Add(lookLate))
	return &looker{reader: reader}
}

func (l *looker) read() (ringbuf.Record, error) {
	for {
		record, err := l.reader.Read()
		came := err == nil
		switch {
		case !came && !errors.Is(err, os.ErrDeadlineExceeded):
			return record, err
		case came && l.soon:
			l.came = true
		case came || l.came:
			l.soon, l.came = true, came
			l.reader.SetDeadline(time.Now().Add(lookSoon))
		default:
			l.soon = false
			l.reader.SetDeadline(time.Now().Add(lookLate))
		}
		if came {
			return record, nil
		}
	}
}
