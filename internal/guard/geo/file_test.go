package geo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func saved(t testing.TB, table *Table) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := table.Save(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// reload saves a table and loads it.
func reload(table *Table) (*Table, error) {
	var out bytes.Buffer
	if err := table.Save(&out); err != nil {
		return nil, err
	}
	return Load(&out)
}

func TestLoadReadsWhatSaveWrites(t *testing.T) {
	table := readTable(t)
	if got, err := reload(table); err != nil || !reflect.DeepEqual(got, table) {
		t.Errorf("%v: %+v became %+v", err, table, got)
	}
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		if got, err := reload(table); err != nil || !reflect.DeepEqual(got, table) {
			t.Fatalf("%v: %+v became %+v", err, table, got)
		}
	})
}

// Whatever byte is another or lacks, the file is refused.
func TestDamagedTablesAreRefused(t *testing.T) {
	whole := saved(t, readTable(t))
	for n := range whole {
		if _, err := Load(bytes.NewReader(whole[:n])); !errors.Is(err, ErrTable) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(whole), err)
		}
		other := bytes.Clone(whole)
		other[n] ^= 0x10
		if _, err := Load(bytes.NewReader(other)); !errors.Is(err, ErrTable) {
			t.Fatalf("byte %d of %d is another: %v", n, len(whole), err)
		}
	}
	if _, err := Load(bytes.NewReader(append(whole, 0))); !errors.Is(err, ErrTable) {
		t.Errorf("a byte more: %v", err)
	}
}

// sealed puts the right sum under a file that somebody else wrote.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), sum[:]...)
}

// A right sum does not make layers right.
func TestTablesThatAreNotInOrderAreRefused(t *testing.T) {
	whole := saved(t, readTable(t))
	body := whole[:len(whole)-sha256.Size]
	layers := fileFixed + int(binary.BigEndian.Uint32(body[len(fileMagic)+2:]))
	if _, err := Load(bytes.NewReader(sealed(body))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		want   string
		change func([]byte) []byte
	}{
		"another version":     {"version 2, not 1", func(b []byte) []byte { b[len(fileMagic)+1] = 2; return b }},
		"a long head":         {"head is too long", func(b []byte) []byte { b[len(fileMagic)+2] = 0xff; return b }},
		"a head beyond":       {"head is too long", func(b []byte) []byte { b[len(fileMagic)+3] = 0x08; return b }},
		"no JSON":             {"invalid character", func(b []byte) []byte { b[fileFixed] = '!'; return b }},
		"counts below 0":      {"not whole", func(b []byte) []byte { return recount(b, '-') }},
		"too many starts":     {"not whole", func(b []byte) []byte { return recount(b, '9') }},
		"a late first start":  {"not whole", func(b []byte) []byte { b[layers+3] = 1; return b }},
		"starts out of order": {"not whole", func(b []byte) []byte { copy(b[layers+8:], b[layers+4:layers+8]); return b }},
		"bytes behind":        {"not whole", func(b []byte) []byte { return append(b, 0) }},
		"a layer too short":   {"not whole", func(b []byte) []byte { return b[:len(b)-1] }},
		"a code nobody has":   {"not whole", func(b []byte) []byte { return replaceCode(b, layers, "FI", "QQ") }},
		"a code beyond all":   {"not whole", func(b []byte) []byte { return replaceCode(b, layers, "FI", "") }},
	} {
		if _, err := Load(bytes.NewReader(sealed(c.change(bytes.Clone(body))))); !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// recount writes another first digit of the first layer's count.
func recount(b []byte, digit byte) []byte {
	mark := []byte(`"Starts":[`)
	b[bytes.Index(b, mark)+len(mark)] = digit
	return b
}

// replaceCode writes another code where the layers have one; "" is beyond all codes.
func replaceCode(b []byte, layers int, old, other string) []byte {
	to := letters(other)
	if other == "" {
		to = special + 1
	}
	at := layers + bytes.Index(b[layers:], appendCode(nil, letters(old)))
	copy(b[at:], appendCode(nil, to))
	return b
}

func TestTooLargeFilesAreRefused(t *testing.T) {
	whole := saved(t, readTable(t))
	if _, err := load(bytes.NewReader(whole), int64(len(whole))); err != nil {
		t.Error(err)
	}
	if _, err := load(bytes.NewReader(whole), int64(len(whole))-1); !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	f := csvFile{rows: mostRows}
	if err := f.read([]string{"1", "2", "FI"}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func TestErrorsOfReadersAndWritersAreKept(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("the disk is gone")
	_ = r.CloseWithError(broken)
	if err := readTable(t).Save(w); !errors.Is(err, broken) {
		t.Error(err)
	}
	r, w = io.Pipe()
	_ = w.CloseWithError(broken)
	if _, err := Load(r); !errors.Is(err, broken) || errors.Is(err, ErrTable) {
		t.Error(err)
	}
	if err := new(Builder).ReadCSV(r, Source{Name: "x"}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// FuzzLoad gives any body its right sum: what is behind it is what can go wrong.
func FuzzLoad(f *testing.F) {
	whole := saved(f, readTable(f))
	f.Add(whole[:len(whole)-sha256.Size])
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = Load(bytes.NewReader(body))
		table, err := Load(bytes.NewReader(sealed(body)))
		if err != nil {
			return
		}
		if _, err := reload(table); err != nil {
			t.Fatal(err)
		}
		for range table.Ranges4() {
		}
		for range table.Ranges6() {
		}
	})
}

// BenchmarkLoad loads a table of the size of the published data.
func BenchmarkLoad(b *testing.B) {
	file := saved(b, fullTable())
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if _, err := Load(bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResolve makes the ranges of a policy of all kinds of rules.
func BenchmarkResolve(b *testing.B) {
	table := fullTable()
	p, err := NewPolicy(Rules{Deny: regions(b, "country:FI", "continent:AS", "asn:7"), Unknown: Allow, Default: Allow})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		table.Resolve(p)
	}
}

func fullTable() *Table {
	t := &Table{}
	codes := strings.Fields(observed)
	for i := range uint32(390_000) {
		t.v4.country.put(v4(i*11_000), letters(codes[i*7%255]))
	}
	for i := range uint32(467_000) {
		t.v4.asn.put(v4(i*9_000), i%85_000)
	}
	for i := range uint64(300_000) {
		t.v6.country.put(v6{i << 32, 0}, letters(codes[i*7%255]))
	}
	for i := range uint64(178_000) {
		t.v6.asn.put(v6{i << 33, 0}, uint32(i%53_000))
	}
	return t
}
