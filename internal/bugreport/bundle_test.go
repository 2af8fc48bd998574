package bugreport

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// unpack is what is in a report, by name, and the names in their order.
func unpack(t *testing.T, report []byte) (files map[string]string, names []string) {
	t.Helper()
	plain, err := zstd.NewReader(bytes.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	files = map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, names
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(header.Name, "realmgate-bugreport/")
		files[name], names = string(text), append(names, name)
	}
}

// A part that fails or does not end leaves the others as they are, and the list says so.
func TestWhatFailsIsSaid(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	var report bytes.Buffer
	list, err := Write(ctx, &report, []Part{
		{"a.txt", "what is there", func(context.Context) ([]byte, error) { return []byte("text\n"), nil }},
		{"b.txt", "what fails", func(context.Context) ([]byte, error) {
			return []byte("half\n"), errors.New("it broke,\npassword=hunter2")
		}},
		{"c.txt", "what hangs", func(context.Context) ([]byte, error) { select {} }},
	}, Scrub(nil), time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	files, names := unpack(t, report.Bytes())
	if !slices.Equal(names, []string{contents, "a.txt", "b.txt"}) || files["a.txt"] != "text\n" || files["b.txt"] != "half\n" || files[contents] != list {
		t.Errorf("%q, %q", names, files)
	}
	for _, line := range []string{"a.txt                         5 bytes", "what fails (it broke,; password=<hidden>)", "what hangs (it did not come within 6.5s)"} {
		if !strings.Contains(list, line) {
			t.Errorf("the list lacks %q:\n%s", line, list)
		}
	}
}

// However much there is, the file stays below its bound, and of a long part beginning and end are there.
func TestReportIsBounded(t *testing.T) {
	t.Parallel()
	random := make([]byte, 2<<20) // which nothing compresses
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(random)
	for i := 99; i < len(random); i += 100 {
		random[i] = '\n'
	}
	long := append(append([]byte("the beginning\n"), random...), "the end\n"...)
	var parts []Part
	for n := range 30 {
		parts = append(parts, Part{fmt.Sprint(n, ".txt"), "much", func(context.Context) ([]byte, error) { return long, nil }})
	}
	var report bytes.Buffer
	list, err := Write(t.Context(), &report, parts, func(text []byte) []byte { return text }, time.Now())
	if err != nil || report.Len() > 10<<20 {
		t.Fatalf("%d bytes, %v", report.Len(), err)
	}
	files, names := unpack(t, report.Bytes())
	if names[0] != contents || !strings.Contains(list, "cut, of 2097174 bytes") {
		t.Errorf("%q:\n%s", names, list)
	}
	if first := files["0.txt"]; !strings.HasPrefix(first, "the beginning\n") || !strings.HasSuffix(first, "the end\n") || !strings.Contains(first, "\n[…]\n") || len(first) > mostPart {
		t.Errorf("%d bytes, that begin %.40q", len(first), first)
	}
}
