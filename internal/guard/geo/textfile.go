package geo

import (
	"bytes"
	"errors"
	"io"
)

// textFile is a file of ranges as it is read, of IPv4 or of IPv6 addresses, as its first
// one is, and of a V for each.
type textFile[V comparable] struct {
	*rows
	v4  draft[v4, V]
	v6  draft[v6, V]
	six bool
}

func newTextFile[V comparable](r io.Reader, from Source) *textFile[V] {
	return &textFile[V]{rows: newRows(r, from.Name)}
}

// each reads the file line by line, up to its end or an error.
func (f *textFile[V]) each(read func(text []byte) error) error {
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := read(text); err != nil {
			return err
		}
	}
}

// begin counts a range by its first address.
func (f *textFile[V]) begin(first []byte) error {
	if f.data == 0 {
		f.six = bytes.IndexByte(first, ':') >= 0
	}
	return f.count()
}

// put gives what was read to a builder, as that of its family.
func (f *textFile[V]) put(b *Builder, from Source, says4, says6 kind, to4 *layer[v4, V], to6 *layer[v6, V]) error {
	from, err := f.done(from)
	if err != nil {
		return err
	}
	says := says4
	if f.six {
		says = says6
	}
	if err := b.free(from, says); err != nil {
		return err
	}
	if f.six {
		*to6 = f.v6.done()
	} else {
		*to4 = f.v4.done()
	}
	b.add(from, says)
	return nil
}
