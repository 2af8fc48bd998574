package jail

import (
	"bytes"
	"sync/atomic"
)

// LongestLine is how many bytes a line may have without its end. Longer ones are skipped.
const LongestLine = 8192

// lines cuts what is read into lines. Bytes may be of any value: only \n ends a line.
type lines struct {
	part     []byte         // begin of a line whose end was not yet read
	skipping bool           // until the end of the line
	skipped  *atomic.Uint64 // lines too long
}

// feed calls each with every line that ends in a chunk. A line is valid until each returns.
func (l *lines) feed(chunk []byte, each func(line []byte)) {
	for {
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			l.keep(chunk)
			return
		}
		switch {
		case l.skipping:
			l.skipping = false
		case len(l.part)+end > LongestLine:
			l.skipped.Add(1)
		case len(l.part) > 0:
			l.part = append(l.part, chunk[:end]...)
			each(l.part)
		default:
			each(chunk[:end])
		}
		l.part = l.part[:0]
		chunk = chunk[end+1:]
	}
}

func (l *lines) keep(begin []byte) {
	switch {
	case l.skipping:
	case len(l.part)+len(begin) > LongestLine:
		l.skipped.Add(1)
		l.skipFirst()
	default:
		l.part = append(l.part, begin...)
	}
}

// skipFirst drops what comes up to the next end of a line: it is the rest of a line whose
// begin is not known, and could look like another one.
func (l *lines) skipFirst() { l.part, l.skipping = l.part[:0], true }

// restart drops the begin of a line that will not go on.
func (l *lines) restart() { l.part, l.skipping = l.part[:0], false }
