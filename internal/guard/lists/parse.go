package lists

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/realmgate/realmgate/internal/model"
)

// What a list may have where its Rules do not say.
const (
	DefaultBytes   = 64 << 20  // of text
	DefaultEntries = 1_000_000 // before those that overlap are merged
)

// mostFaults is the share of a downloaded list's lines that may be wrong.
const mostFaults = 0.05

// Rules say what Parse accepts.
type Rules struct {
	// Downloaded: somebody else wrote the list. A line that is wrong is left out and
	// counted, as long as at most one in 20 is; but a list without an entry is refused
	// with ErrEmpty, and one that covers too much of the Internet with ErrTooWide. In a
	// list that the user wrote the first wrong line is the error, and nothing is too wide.
	Downloaded bool
	Column     int   // of a table that has the addresses, from 1; 0: the one that has them
	Bytes      int64 // at most, of text; 0: DefaultBytes
	Entries    int   // at most; 0: DefaultEntries
}

func (r Rules) withDefaults() Rules {
	if r.Bytes == 0 {
		r.Bytes = DefaultBytes
	}
	if r.Entries == 0 {
		r.Entries = DefaultEntries
	}
	return r
}

// parser collects what the lines of a text say.
type parser struct {
	rules  Rules
	layout layout
	ranges model.Ranges
	list   List
}

// Parse reads a list of IPv4 and IPv6 addresses, prefixes and ranges, from lines or from
// a column of CSV or of tab-separated values. A line that is wrong is a *LineError.
func Parse(r io.Reader, rules Rules) (*List, error) {
	p := parser{rules: rules.withDefaults()}
	lines := newLineReader(newCapped(r, p.rules.Bytes))
	head, err := lines.head()
	if err != nil {
		return nil, err
	}
	if err := refuseForeign(head); err != nil {
		return nil, err
	}
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return p.finish()
		case err == nil:
			err = p.line(line)
		case !errors.Is(err, errLongLine):
			return nil, err
		}
		if err == nil {
			continue
		}
		fault := &LineError{lines.number, err}
		if !p.rules.Downloaded || errors.Is(err, ErrTooWide) || errors.Is(err, ErrTooLarge) || errors.Is(err, errTwoColumns) {
			return nil, fault
		}
		if p.list.Faults++; p.list.Fault == nil {
			p.list.Fault = fault
		}
	}
}

// line takes in what a line says.
func (p *parser) line(line []byte) error {
	if line = bytes.TrimSpace(cutComment(line)); len(line) == 0 {
		return nil
	}
	if !p.layout.known {
		if header, err := p.layout.learn(line, p.rules.Column); header || err != nil {
			return err
		}
	}
	text, err := p.layout.entry(line)
	if err != nil {
		return err
	}
	s, err := parseEntry(text)
	if err != nil {
		return err
	}
	if p.list.Entries++; p.list.Entries > p.rules.Entries {
		return fmt.Errorf("%w: more than %d entries", ErrTooLarge, p.rules.Entries)
	}
	wide := false
	if s.first.Is4() {
		r := model.AddressRange{First: model.AddressNumber(s.first), Last: model.AddressNumber(s.last)}
		p.ranges.V4 = append(p.ranges.V4, r)
		wide = unicast4(r) > widest4
	} else {
		r := model.AddressRange6{First: s.first.As16(), Last: s.last.As16()}
		p.ranges.V6 = append(p.ranges.V6, r)
		wide = unicast6(r) > widest6
	}
	if wide && p.rules.Downloaded {
		return fmt.Errorf("%w: %s alone does", ErrTooWide, text)
	}
	return nil
}

// finish makes the list of all that was read.
func (p *parser) finish() (*List, error) {
	l := &p.list
	if p.rules.Downloaded {
		if all := l.Entries + l.Faults; float64(l.Faults) > mostFaults*float64(all) {
			return nil, fmt.Errorf("%w: %d of %d, the first is %w", ErrTooFaulty, l.Faults, all, l.Fault)
		}
		if l.Entries == 0 {
			return nil, ErrEmpty
		}
	}
	l.Addresses = p.ranges.Set()
	if p.rules.Downloaded {
		if err := l.checkCover(); err != nil {
			return nil, err
		}
	}
	return l, nil
}
