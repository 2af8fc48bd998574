package geo

import (
	"bytes"
	"io"
	"strconv"
)

const asnRow = "FIRST,LAST,ASN,NAME"

// ReadASN reads a file of autonomous systems, as asn-ipv4.csv and asn-ipv6.csv of the
// package @ip-location-db/asn: FIRST,LAST,ASN,NAME in rising order. A name may stand in
// double quotes, doubled within it, but not on two lines. Names are not kept.
func (b *Builder) ReadASN(r io.Reader, from Source) error {
	f := newTextFile[uint32](r, from)
	if err := f.each(func(text []byte) error { return readASN(f, text) }); err != nil {
		return err
	}
	from.Licence = licenceASN
	return f.put(b, from, asn4, asn6, &b.table.v4.asn, &b.table.v6.asn)
}

func readASN(f *textFile[uint32], text []byte) error {
	part := bytes.SplitN(text, []byte(","), 4)
	if len(part) != 4 {
		return f.noRange(text, asnRow)
	}
	if err := f.begin(part[0]); err != nil {
		return err
	}
	asn, err := strconv.ParseUint(string(part[2]), 10, 32)
	if err != nil {
		return f.errorf("want the number of an autonomous system, not %s", quote(part[2]))
	}
	if !isField(part[3]) {
		return f.errorf("want a name, in double quotes where it has a comma, not %s", quote(part[3]))
	}
	if f.six {
		return take(f.rows, &f.v6, part[0], part[1], parseV6, uint32(asn))
	}
	return take(f.rows, &f.v4, part[0], part[1], parseV4, uint32(asn))
}

// isField reports whether text is one field of a CSV file (RFC 4180).
func isField(text []byte) bool {
	inner, quoted := bytes.CutPrefix(text, []byte(`"`))
	if !quoted {
		return !bytes.ContainsAny(text, "\",\r")
	}
	inner, closed := bytes.CutSuffix(inner, []byte(`"`))
	return closed && !bytes.Contains(bytes.ReplaceAll(inner, []byte(`""`), nil), []byte(`"`))
}
