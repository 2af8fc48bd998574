package geo

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"time"
)

const torRow = "FIRST,LAST,COUNTRY"

// ReadTor reads a file of countries in Tor's format, as geoip and geoip6 of Debian's
// package tor-geoipdb: FIRST,LAST,COUNTRY in rising order, where IPv4 addresses are decimal
// numbers, and comments from "#" to the end of a line of their own. The date is the file's
// own where from has none.
func (b *Builder) ReadTor(r io.Reader, from Source) error {
	f := newTextFile[code](r, from)
	err := f.each(func(text []byte) error {
		if !bytes.HasPrefix(text, []byte("#")) {
			return readTor(f, text)
		}
		if made, is := bytes.CutPrefix(text, []byte("# Generated: ")); is && from.Date.IsZero() {
			from.Date = dateOf(string(made))
		}
		return nil
	})
	if err != nil {
		return err
	}
	from.Licence = licenceTor
	return f.put(b, from, country4, country6, &b.table.v4.country, &b.table.v6.country)
}

// dateOf returns the zero time where the text is no date: a comment may say what it likes.
func dateOf(text string) time.Time {
	made, err := time.Parse(time.RFC1123, text)
	if err != nil {
		return time.Time{}
	}
	return made.UTC()
}

// readTor takes in a line with a range.
func readTor(f *textFile[code], text []byte) error {
	first, rest, ok := bytes.Cut(text, []byte(","))
	last, country, ok2 := bytes.Cut(rest, []byte(","))
	if !ok || !ok2 {
		return f.noRange(text, torRow)
	}
	if err := f.begin(first); err != nil {
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
