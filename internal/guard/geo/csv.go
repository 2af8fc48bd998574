package geo

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// csvFile is a CSV file as it is read.
type csvFile struct {
	v4           drafts[v4]
	v6           drafts[v6]
	asns         bool // it says ASNs, not countries
	rows         int
	rows6        int // of them, those of IPv6
	skipped      int // of them, those not taken as they are
	skippedHere  error
	firstSkipped error
}

// ReadCSV reads ranges of IPv4 or IPv6 addresses or both, each family in rising order, of
// at most 256 MiB: FIRST,LAST,COUNTRY or FIRST,LAST,ASN[,NAME], as the first row is. IPv4
// addresses may be decimal numbers; lines that begin with "#" are comments.
func (b *Builder) ReadCSV(r io.Reader, from Source) error {
	data, err := readSource(r, from)
	switch {
	case err != nil:
		return err
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		return fmt.Errorf("%s is a web page, want FIRST,LAST,COUNTRY or FIRST,LAST,ASN,NAME", from.Name)
	case len(data) > 0 && data[len(data)-1] != '\n':
		return fmt.Errorf("%s ends within a line: it is not complete", from.Name)
	}
	var f csvFile
	in := csv.NewReader(bytes.NewReader(data))
	in.Comment, in.FieldsPerRecord, in.ReuseRecord = '#', -1, true
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from.Name, err)
		}
		line, _ := in.FieldPos(0)
		if strings.Contains(row[len(row)-1], "\n") { // a quote too few would swallow rows
			return fmt.Errorf("%s:%d: the row ends on another line", from.Name, line)
		}
		if err := f.read(row); err != nil {
			return fmt.Errorf("%s:%d: %w", from.Name, line, err)
		}
		if f.skippedHere != nil && f.firstSkipped == nil {
			f.firstSkipped = fmt.Errorf("%s:%d: %w", from.Name, line, f.skippedHere)
		}
	}
	switch {
	case f.rows == 0:
		return fmt.Errorf("%s has no ranges", from.Name)
	case f.skipped*rowsPerSkipped > f.rows:
		return f.firstSkipped
	}
	from.Rows, from.Skipped, from.SHA256 = f.rows, f.skipped, sumOf(data)
	return b.take(from, f.says(), &f.v4, &f.v6)
}

func (f *csvFile) says() (list []kind) {
	country, asn := country4, asn4
	for _, n := range []int{f.rows - f.rows6, f.rows6} {
		switch {
		case n > 0 && f.asns:
			list = append(list, asn)
		case n > 0:
			list = append(list, country)
		}
		country, asn = country6, asn6
	}
	return list
}

// read takes a row in.
func (f *csvFile) read(row []string) error {
	f.skippedHere = nil
	if f.rows++; f.rows > mostRows {
		return fmt.Errorf("the file has more than %d ranges", mostRows)
	}
	if f.rows == 1 && len(row) > 2 {
		_, err := strconv.ParseUint(row[2], 10, 32)
		f.asns = err == nil
	}
	var country code
	var asn uint64
	var err error
	switch {
	case f.asns && len(row) != 3 && len(row) != 4:
		return fmt.Errorf("want FIRST,LAST,ASN,NAME, not %s", quote(strings.Join(row, ",")))
	case !f.asns && len(row) != 3:
		return fmt.Errorf("want FIRST,LAST,COUNTRY, not %s", quote(strings.Join(row, ",")))
	case f.asns:
		if asn, err = strconv.ParseUint(row[2], 10, 32); err != nil {
			return fmt.Errorf("want the number of an autonomous system, not %s", quote(row[2]))
		}
	default:
		var assigned bool
		if country, assigned, err = readCountry(row[2]); err != nil {
			return err
		}
		if !assigned {
			f.strange(fmt.Errorf("no country has the code %s", quote(row[2])))
		}
	}
	if strings.Contains(row[0], ":") {
		f.rows6++
		return addRow(f, &f.v6, row, parseV6, country, uint32(asn))
	}
	return addRow(f, &f.v4, row, parseV4, country, uint32(asn))
}

// strange is called where a row is not taken as it is.
func (f *csvFile) strange(why error) {
	f.skipped++
	f.skippedHere = why
}

// addRow adds a range to what it is about.
func addRow[A address[A]](f *csvFile, to *drafts[A], row []string, parse func(string) (A, error), country code, asn uint32) error {
	first, err := parse(row[0])
	if err != nil {
		return err
	}
	last, err := parse(row[1])
	if err != nil {
		return err
	}
	if last.less(first) {
		return fmt.Errorf("the range ends at %s, before it begins", row[1])
	}
	var taken bool
	if f.asns {
		taken = addRange(&to.asn, first, last, asn)
	} else {
		taken = addRange(&to.country, first, last, country)
	}
	if !taken {
		f.strange(fmt.Errorf("%s is in a range above, or before one", row[0]))
	}
	return nil
}

// addRange adds a range, or what is left of it behind the ranges above: then it is false.
func addRange[A address[A], V comparable](d *draft[A, V], first, last A, v V) bool {
	if d.add(first, last, v) {
		return true
	}
	if !d.full && !last.less(d.free) {
		d.add(d.free, last, v)
	}
	return false
}

func parseV4(text string) (v4, error) {
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		return v4(n), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() {
		return 0, fmt.Errorf("want an IPv4 address, not %s", quote(text))
	}
	return asV4(a), nil
}

func parseV6(text string) (v6, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is6() || a.Is4In6() || a.Zone() != "" {
		return v6{}, fmt.Errorf("want an IPv6 address, not %s", quote(text))
	}
	return asV6(a), nil
}
