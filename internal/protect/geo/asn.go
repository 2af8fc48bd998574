package geo

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

const asnRow = "FIRST,LAST,ASN,NAME"

// asnFile is a file of ASNs as it is read: IPv4 or IPv6, as its first range.
type asnFile struct {
	*rows
	v4  draft[v4, uint32]
	v6  draft[v6, uint32]
	six bool
}

// ReadASN reads a file of autonomous systems, as asn-ipv4.csv and asn-ipv6.csv of the
// package @ip-location-db/asn: FIRST,LAST,ASN,NAME in rising order. A name may stand in
// double quotes, doubled within it, but not on two lines. Names are not kept.
func (b *Builder) ReadASN(r io.Reader, from Source) error {
	f := &asnFile{rows: newRows(r, from.Name)}
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := f.read(text); err != nil {
			return err
		}
	}
	from, err := f.done(from)
	if err != nil {
		return err
	}
	from.Licence = licenceASN
	says := asn4
	if f.six {
		says = asn6
	}
	if err := b.free(from, says); err != nil {
		return err
	}
	if f.six {
		b.table.v6.asn = f.v6.done()
	} else {
		b.table.v4.asn = f.v4.done()
	}
	b.add(from, says)
	return nil
}

func (f *asnFile) read(text []byte) error {
	part := bytes.SplitN(text, []byte(","), 4)
	if len(part) != 4 {
		return f.noRange(text, asnRow)
	}
	if f.data == 0 {
		f.six = bytes.IndexByte(part[0], ':') >= 0
	}
	if err := f.count(); err != nil {
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
