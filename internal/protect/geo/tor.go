package geo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"time"
)

const torRow = "FIRST,LAST,COUNTRY"

// torFile is a file of countries as it is read: IPv4 or IPv6, as its first range.
type torFile struct {
	*rows
	v4  draft[v4, code]
	v6  draft[v6, code]
	six bool
}

// ReadTor reads a file of countries in Tor's format, as geoip and geoip6 of Debian's
// package tor-geoipdb: FIRST,LAST,COUNTRY in rising order, where IPv4 addresses are decimal
// numbers, and comments from "#" to the end of a line of their own. The date is the file's
// own where from has none.
func (b *Builder) ReadTor(r io.Reader, from Source) error {
	f := &torFile{rows: newRows(r, from.Name)}
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if bytes.HasPrefix(text, []byte("#")) {
			if made, is := bytes.CutPrefix(text, []byte("# Generated: ")); is && from.Date.IsZero() {
				from.Date = dateOf(string(made))
			}
			continue
		}
		if err := f.read(text); err != nil {
			return err
		}
	}
	from, err := f.done(from)
	if err != nil {
		return err
	}
	from.Licence = licenceTor
	says := country4
	if f.six {
		says = country6
	}
	if err := b.free(from, says); err != nil {
		return err
	}
	if f.six {
		b.table.v6.country = f.v6.done()
	} else {
		b.table.v4.country = f.v4.done()
	}
	b.add(from, says)
	return nil
}

// dateOf returns the zero time where the text is no date: a comment may say what it likes.
func dateOf(text string) time.Time {
	made, err := time.Parse(time.RFC1123, text)
	if err != nil {
		return time.Time{}
	}
	return made.UTC()
}

// read takes in a line with a range.
func (f *torFile) read(text []byte) error {
	first, rest, ok := bytes.Cut(text, []byte(","))
	last, country, ok2 := bytes.Cut(rest, []byte(","))
	if !ok || !ok2 {
		return f.noRange(text, torRow)
	}
	if f.data == 0 {
		f.six = bytes.IndexByte(first, ':') >= 0
	}
	if err := f.count(); err != nil {
		return err
	}
	c, assigned, err := readCountry(country)
	if err != nil {
		return f.errorf("%w", err)
	}
	if !assigned {
		f.strange("no country has the code %s", quote(country))
	}
	if f.six {
		return take(f.rows, &f.v6, first, last, parseV6, c)
	}
	return take(f.rows, &f.v4, first, last, parseNumber, c)
}

func parseNumber(text []byte) (v4, error) {
	n, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("want an IPv4 address as a number up to %d, not %s", uint32(math.MaxUint32), quote(text))
	}
	return v4(n), nil
}

func parseV4(text []byte) (v4, error) {
	a, err := netip.ParseAddr(string(text))
	if err != nil || !a.Is4() {
		return 0, fmt.Errorf("want an IPv4 address, not %s", quote(text))
	}
	return asV4(a), nil
}

func parseV6(text []byte) (v6, error) {
	a, err := netip.ParseAddr(string(text))
	if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" {
		return v6{}, fmt.Errorf("want an IPv6 address, not %s", quote(text))
	}
	return asV6(a), nil
}
