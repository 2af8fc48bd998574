package geo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The file of a table: the magic, the version (2 bytes), the length of the head (4 bytes),
// the head (JSON), the layers one after the other, and SHA-256 of all that. A layer is its
// starts and then its values. Numbers are big-endian.
const (
	fileMagic   = "realmgeo"
	fileVersion = 1
	mostFile    = 256 << 20 // bytes
	mostHead    = 1 << 20   // bytes
	fileFixed   = len(fileMagic) + 2 + 4
)

// fileHead is what the file says before its layers.
type fileHead struct {
	Sources []Source
	Starts  [4]int // by kind
}

// ErrTable is of a file that is no table as Save writes it.
var ErrTable = errors.New("this is no table of geo data: build it again")

// Save writes the table for Load.
func (t *Table) Save(w io.Writer) error {
	head, err := json.Marshal(fileHead{t.sources, [4]int{
		country4: len(t.v4.country.starts), country6: len(t.v6.country.starts),
		asn4: len(t.v4.asn.starts), asn6: len(t.v6.asn.starts),
	}})
	if err != nil {
		return fmt.Errorf("write the table of geo data: %w", err)
	}
	out := binary.BigEndian.AppendUint16([]byte(fileMagic), fileVersion)
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = append(out, head...)
	out = saveLayer(out, &t.v4.country, appendCode)
	out = saveLayer(out, &t.v6.country, appendCode)
	out = saveLayer(out, &t.v4.asn, binary.BigEndian.AppendUint32)
	out = saveLayer(out, &t.v6.asn, binary.BigEndian.AppendUint32)
	sum := sha256.Sum256(out)
	if _, err := w.Write(append(out, sum[:]...)); err != nil {
		return fmt.Errorf("write the table of geo data: %w", err)
	}
	return nil
}

func appendCode(to []byte, c code) []byte { return binary.BigEndian.AppendUint16(to, uint16(c)) }

func saveLayer[A address[A], V comparable](out []byte, l *layer[A, V], value func([]byte, V) []byte) []byte {
	for _, a := range l.starts {
		out = a.append(out)
	}
	for _, v := range l.values {
		out = value(out, v)
	}
	return out
}

// Load reads what Save wrote, at most 256 MiB. The error wraps ErrTable where that is
// damaged, not complete, or of another version.
func Load(r io.Reader) (*Table, error) { return load(r, mostFile) }

func load(r io.Reader, most int64) (*Table, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("read the table of geo data: %w", err)
	}
	bad := func(why string) error { return fmt.Errorf("%w: %s", ErrTable, why) }
	switch {
	case int64(len(data)) > most:
		return nil, bad("it is too large")
	case !bytes.HasPrefix(data, []byte(fileMagic)):
		return nil, bad("it begins otherwise")
	case len(data) < fileFixed+sha256.Size:
		return nil, bad("it is not complete")
	}
	if v := binary.BigEndian.Uint16(data[len(fileMagic):]); v != fileVersion {
		return nil, bad(fmt.Sprintf("it has version %d, not %d", v, fileVersion))
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if have := sha256.Sum256(body); !bytes.Equal(have[:], sum) {
		return nil, bad("it is damaged or not complete")
	}
	// What follows fails only for files that somebody else wrote.
	size := binary.BigEndian.Uint32(body[len(fileMagic)+2:])
	if size > mostHead || int(size) > len(body)-fileFixed {
		return nil, bad("its head is too long")
	}
	var head fileHead
	if err := json.Unmarshal(body[fileFixed:fileFixed+int(size)], &head); err != nil {
		return nil, bad(err.Error())
	}
	in := loader{left: body[fileFixed+int(size):]}
	t := &Table{sources: head.Sources}
	t.v4.country = loadLayer(&in, head.Starts[country4], readV4, readCode)
	t.v6.country = loadLayer(&in, head.Starts[country6], readV6, readCode)
	t.v4.asn = loadLayer(&in, head.Starts[asn4], readV4, binary.BigEndian.Uint32)
	t.v6.asn = loadLayer(&in, head.Starts[asn6], readV6, binary.BigEndian.Uint32)
	if in.bad || len(in.left) > 0 || !codesAreKnown(&t.v4.country) || !codesAreKnown(&t.v6.country) {
		return nil, bad("its layers are not whole")
	}
	return t, nil
}

func readCode(from []byte) code { return code(binary.BigEndian.Uint16(from)) }

// codesAreKnown reports whether a layer has only codes that have a continent, or mean something else.
func codesAreKnown[A address[A]](l *layer[A, code]) bool {
	for _, c := range l.values {
		if c != none && c != special && !c.known() {
			return false
		}
	}
	return true
}

// loader takes layers from what is left of a file.
type loader struct {
	left []byte
	bad  bool
}

func loadLayer[A address[A], V comparable](in *loader, n int, start func([]byte) A, value func([]byte) V) (l layer[A, V]) {
	var a A
	var v V
	wide, deep := binary.Size(a.append(nil)), binary.Size(v)
	if in.bad || n < 0 || n > len(in.left)/(wide+deep) {
		in.bad = true
		return l
	}
	l.starts, l.values = make([]A, n), make([]V, n)
	for i := range l.starts {
		l.starts[i] = start(in.left[i*wide:])
		// The first start is the first address, and each is after the one before.
		if i == 0 && l.starts[i] != a || i > 0 && !l.starts[i-1].less(l.starts[i]) {
			in.bad = true
		}
	}
	for i := range l.values {
		l.values[i] = value(in.left[n*wide+i*deep:])
	}
	in.left = in.left[n*(wide+deep):]
	return l
}
