package unpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const (
	wantName = "usr/share/tor/geoip"
	wantText = "16777216,16777471,AU\n"
)

// entry is a file of a made-up archive.
type entry struct {
	name string
	data string
	kind byte // 0: a regular file
}

func usual() []entry {
	return []entry{{name: "./usr/share/tor/" + "geoip", data: wantText}, {name: "./usr/share/doc/x", data: "x"}}
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.data)), Typeflag: tar.TypeReg}
		if e.kind != 0 {
			h.Typeflag, h.Linkname = e.kind, "/etc/shadow"
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// compressed returns data as a member of that suffix has it.
func compressed(t testing.TB, suffix string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch suffix {
	case "":
		return data
	case ".gz":
		w = gzip.NewWriter(&out)
	case ".xz":
		w, err = xz.NewWriter(&out)
	case ".zst":
		w, err = zstd.NewWriter(&out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func arOf(members ...entry) []byte {
	out := []byte(arMagic)
	for _, m := range members {
		out = append(out, fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data))...)
		out = append(out, m.data...)
		if len(m.data)%2 == 1 {
			out = append(out, '\n')
		}
	}
	return out
}

func debOf(t testing.TB, suffix string, entries ...entry) []byte {
	t.Helper()
	return arOf(entry{name: "debian-binary", data: "2.0\n"}, entry{name: "control.tar.xz", data: "odd"},
		entry{name: "data.tar" + suffix, data: string(compressed(t, suffix, tarOf(t, entries...)))})
}

func TestDebIsReadWhateverItIsCompressedBy(t *testing.T) {
	for _, suffix := range []string{"", ".gz", ".xz", ".zst"} {
		got, err := Deb(bytes.NewReader(debOf(t, suffix, usual()...)), wantName)
		if err != nil || len(got) != 1 || string(got[wantName]) != wantText {
			t.Errorf("%q: %q, %v", suffix, got, err)
		}
	}
}

func TestTgz(t *testing.T) {
	packed := compressed(t, ".gz", tarOf(t, entry{name: "package/asn-ipv4.csv", data: "a"}, entry{name: "package/empty"}))
	got, err := Tgz(bytes.NewReader(packed), "package/asn-ipv4.csv", "package/empty")
	if err != nil || string(got["package/asn-ipv4.csv"]) != "a" || len(got) != 2 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDebRefuses(t *testing.T) {
	binary := entry{name: "debian-binary", data: "2.0\n"}
	longHeader := arOf(binary, entry{name: "data.tar", data: "x"})
	copy(longHeader[len(longHeader)-2-12:], "9999999999")
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"a web page":          {[]byte("<!DOCTYPE html>"), "no ar archive"},
		"nothing":             {nil, "no ar archive"},
		"another ar archive":  {arOf(entry{name: "libx.o", data: "2.0\n"}), "debian-binary"},
		"another version":     {arOf(entry{name: "debian-binary", data: "3.0\n"}), "debian-binary"},
		"no data":             {arOf(binary, entry{name: "control.tar.xz"}), "no data.tar"},
		"a damaged header":    {bytes.Replace(arOf(binary), []byte("`\n"), []byte("xx"), 1), "damaged"},
		"a size that lies":    {longHeader, "unexpected EOF"},
		"bzip2":               {arOf(binary, entry{name: "data.tar.bz2"}), "unknown way"},
		"no xz":               {arOf(binary, entry{name: "data.tar.xz", data: "this is no xz stream"}), "xz"},
		"no zstd":             {arOf(binary, entry{name: "data.tar.zst", data: "this is no zstd"}), "magic"},
		"a window of 2 GiB":   {arOf(binary, entry{name: "data.tar.zst", data: "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"}), "window size exceeded"},
		"the file is missing": {debOf(t, ".xz", entry{name: "./usr/share/tor/geoip6"}), "no file " + wantName},
		"a link":              {debOf(t, "", entry{name: wantName, kind: tar.TypeSymlink}), "no regular file"},
		"there twice":         {debOf(t, "", append(usual(), usual()...)...), "twice"},
	} {
		if _, err := Deb(bytes.NewReader(c.in), wantName); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A download that stopped is an error wherever it did, also behind the file that is wanted.
func TestCutArchivesAreRefused(t *testing.T) {
	for _, suffix := range []string{"", ".gz", ".xz", ".zst"} {
		whole := debOf(t, suffix, usual()...)
		for n := range len(whole) - 1 { // without its last byte the package may be whole: that one fills up
			if suffix == "" && n >= len(whole)-1024 {
				break // the zeros that end a tar archive may lack
			}
			if _, err := Deb(bytes.NewReader(whole[:n]), wantName); err == nil {
				t.Fatalf("%q: the first %d of %d bytes were accepted", suffix, n, len(whole))
			}
		}
	}
}

// Nor is one accepted that is whole outside and cut within.
func TestCutDataIsRefused(t *testing.T) {
	for _, suffix := range []string{".gz", ".xz", ".zst"} {
		whole := compressed(t, suffix, tarOf(t, usual()...))
		for n := range len(whole) {
			in := arOf(entry{name: "debian-binary", data: "2.0\n"}, entry{name: "data.tar" + suffix, data: string(whole[:n])})
			if _, err := Deb(bytes.NewReader(in), wantName); err == nil {
				t.Fatalf("%s: the first %d of %d bytes were accepted", suffix, n, len(whole))
			}
			if suffix != ".gz" {
				continue
			}
			if _, err := Tgz(bytes.NewReader(whole[:n]), wantName); err == nil {
				t.Fatalf(".tgz: the first %d of %d bytes were accepted", n, len(whole))
			}
		}
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// bomb is a tar archive within gzip of a file of that many zeros.
func bomb(t testing.TB, name string, size int64) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestBombsAreRefused(t *testing.T) {
	small := bounds{packed: 4 << 10, unpacked: 64 << 10, wanted: 32 << 10, entries: 20}
	entries := func(n int) []byte {
		many := make([]entry, n)
		for i := range many {
			many[i].name = fmt.Sprint(i)
		}
		return compressed(t, ".gz", tarOf(t, many...))
	}
	noise := make([]byte, 8<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	for name, c := range map[string]struct {
		in    []byte
		large bool
	}{
		"a file that is wanted":     {bomb(t, "0", 32<<10+1), true},
		"one that just fits":        {bomb(t, "0", 32<<10), false},
		"one that nobody asked for": {bomb(t, "y", 64<<10), true},
		"files":                     {entries(21), true},
		"as many as may be":         {entries(20), false},
		"an archive":                {compressed(t, ".gz", tarOf(t, entry{name: "0", data: string(noise)})), true},
	} {
		if _, err := small.tgz(bytes.NewReader(c.in), []string{"0"}); errors.Is(err, ErrTooLarge) != c.large || err != nil && !c.large {
			t.Errorf("%s: %v", name, err)
		}
	}
	endless := io.MultiReader(strings.NewReader(arMagic+fmt.Sprintf("%-48s%-10d`\n", "debian-binary", 9_999_999_999)), zeros{})
	if _, err := small.deb(endless, []string{"0"}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an endless package: %v", err)
	}
}

// The reader of xz takes what memory the header asks for: 4 GiB must not reach it.
func TestLargeDictionariesAreRefused(t *testing.T) {
	packed := compressed(t, ".xz", tarOf(t, usual()...))
	for bits, refused := range map[byte]bool{0: false, 22: false, 28: false, 29: true, 40: true, 41: true, 255: true} {
		large := bytes.Clone(packed)
		at := bytes.Index(large[12:], []byte{0x21, 1}) + 12 + 2
		large[at] = bits
		if err := checkXZ(large); errors.Is(err, ErrTooLarge) != refused {
			t.Errorf("dictionary %d: %v", bits, err)
		}
	}
}

// A block of any number and content is passed as the reader passes it.
func TestCheckXZPassesAllBlocks(t *testing.T) {
	text := bytes.Repeat([]byte("16777216,16777471,AU\n"), 20_000)
	for _, check := range []byte{xz.None, xz.CRC32, xz.CRC64, xz.SHA256} {
		var out bytes.Buffer
		w, err := xz.WriterConfig{BlockSize: 100_000, CheckSum: check, NoCheckSum: check == xz.None}.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := checkXZ(out.Bytes()); err != nil {
			t.Errorf("check %d: %v", check, err)
		}
		if check != xz.None {
			// The dictionary of the last block is looked at too.
			data := out.Bytes()
			last := bytes.LastIndex(data, []byte{0x21, 1, 22})
			data[last+2] = 40
			if err := checkXZ(data); !errors.Is(err, ErrTooLarge) {
				t.Errorf("check %d: the last block: %v", check, err)
			}
		}
	}
}

func FuzzDeb(f *testing.F) {
	for _, suffix := range []string{"", ".gz", ".xz", ".zst"} {
		f.Add(debOf(f, suffix, usual()...))
	}
	f.Fuzz(func(_ *testing.T, in []byte) {
		_, _ = Deb(bytes.NewReader(in), wantName)
	})
}

func FuzzTgz(f *testing.F) {
	f.Add(compressed(f, ".gz", tarOf(f, usual()...)))
	f.Fuzz(func(_ *testing.T, in []byte) {
		_, _ = Tgz(bytes.NewReader(in), wantName)
	})
}
