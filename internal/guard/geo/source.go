package geo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// Source is a file that a table was made of.
type Source struct {
	Name    string    // as in errors
	Date    time.Time // when its data was made; zero where nobody said
	SHA256  string    // of its bytes, in hexadecimal
	Rows    int       // ranges that it has
	Skipped int       // of them, invalid ones: what they say is not taken, or in part
}

const (
	mostSource = 256 << 20 // bytes of one file, unpacked
	mostRows   = 4 << 20   // of one file

	// Published data is not without errors: in one file of 2026 a row of 412,000 has
	// addresses of the row above, in another three of 277,000 have letters that are no
	// country's code. Such a country is unknown, and such addresses are the earlier row's.
	// Of a file with more than one skipped row in this many, one does not know what it is.
	rowsPerSkipped = 1000
)

// A Builder makes a table of sources, each of which says the country or the ASN of IPv4
// or of IPv6 addresses, or several of these. No two may say the same. A source in error
// adds nothing. The zero value has no source.
type Builder struct {
	table Table
	said  [4]string // by kind: the name of the source that said it
}

// kind is what a source says.
type kind int

const (
	country4 kind = iota
	country6
	asn4
	asn6
)

var kindNames = [...]string{"countries of IPv4", "countries of IPv6", "ASNs of IPv4", "ASNs of IPv6"}

// free refuses what another source has said.
func (b *Builder) free(from Source, kinds ...kind) error {
	for _, k := range kinds {
		if b.said[k] != "" {
			return fmt.Errorf("%s has %s, as %s does: give one of them", from.Name, kindNames[k], b.said[k])
		}
	}
	return nil
}

// drafts are the layers of a family as a source is read.
type drafts[A address[A]] struct {
	country draft[A, code]
	asn     draft[A, uint32]
}

// take takes in what a source says, of these kinds.
func (b *Builder) take(from Source, says []kind, four *drafts[v4], six *drafts[v6]) error {
	if err := b.free(from, says...); err != nil {
		return err
	}
	for _, k := range says {
		b.said[k] = from.Name
		switch k {
		case country4:
			b.table.v4.country = four.country.done()
		case country6:
			b.table.v6.country = six.country.done()
		case asn4:
			b.table.v4.asn = four.asn.done()
		case asn6:
			b.table.v6.asn = six.asn.done()
		}
	}
	b.table.sources = append(b.table.sources, from)
	return nil
}

// mmdbMarker begins the metadata of an MMDB file, which are at most its last 128 KiB.
const mmdbMarker = "\xab\xcd\xefMaxMind.com"

// Read reads an MMDB or a CSV file, whichever it is.
func (b *Builder) Read(data []byte, from Source) error {
	if bytes.Contains(data[max(0, len(data)-128<<10):], []byte(mmdbMarker)) {
		return b.ReadMMDB(bytes.NewReader(data), from)
	}
	return b.ReadCSV(bytes.NewReader(data), from)
}

// readSource reads a source to its end.
func readSource(r io.Reader, from Source) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostSource+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from.Name, err)
	}
	if len(data) > mostSource {
		return nil, fmt.Errorf("%s: the file is larger than %d bytes", from.Name, mostSource)
	}
	return data, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Build returns the table of all sources that were read. Special-purpose addresses are
// in no country and of no ASN, whatever the sources say.
func (b *Builder) Build() (*Table, error) {
	if len(b.table.sources) == 0 {
		return nil, errors.New("no source of geo data was read")
	}
	t := &Table{v4: b.table.v4.without(&special4), v6: b.table.v6.without(&special6), sources: b.table.Sources()}
	return t, nil
}

// without returns the family with the addresses of which specials says something taken out.
func (f *family[A]) without(specials *layer[A, uint32]) family[A] {
	var country draft[A, code]
	var asn draft[A, uint32]
	cross(&f.country, &f.asn, specials, func(first, last A, c code, n, place uint32) bool {
		if place != 0 {
			c, n = special, 0
		}
		country.add(first, last, c)
		asn.add(first, last, n)
		return true
	})
	return family[A]{country.done(), asn.done()}
}
