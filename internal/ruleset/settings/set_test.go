package settings

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// A set of the most entries is read; one more is refused, and its line is told.
func TestLargestSet(t *testing.T) {
	var text bytes.Buffer
	for i := range uint32(mostInSet) {
		fmt.Fprintln(&text, numbered(2*i))
	}
	ranges, _, err := parseSet(bytes.NewReader(text.Bytes()))
	if got := ranges.Set().Ranges(); err != nil || len(got) != mostInSet {
		t.Errorf("%d ranges, %v", len(got), err)
	}
	text.WriteString("# the last one\n192.0.2.1\n")
	file := filepath.Join(t.TempDir(), "large.txt")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSet("", file); err == nil || err.Error() != file+":1000002: a set has at most 1000000 entries" {
		t.Errorf("one too many: %v", err)
	}
}

func TestHugeSetFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "huge.txt")
	line := strings.Repeat("#", longestLine-2) + "\n"
	if err := os.WriteFile(file, []byte(strings.Repeat(line, maxSetFile/len(line)+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readSet("", file); err == nil || !strings.Contains(err.Error(), "larger than 67108864 bytes") {
		t.Errorf("a file of comments: %v", err)
	}
	if _, _, err := parseSet(strings.NewReader("\n" + strings.Repeat("#", longestLine))); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a long line: %v", err)
	}
}

// FuzzSet: no file makes the parser panic; an error is of a line that there is; a set
// has the addresses of its lines, one by one.
func FuzzSet(f *testing.F) {
	files, err := filepath.Glob("../../config/testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ranges, line, err := parseSet(bytes.NewReader(data))
		lines := bytes.Split(data, []byte("\n"))
		if err != nil {
			if line < 1 || line > len(lines) || strings.ContainsAny(err.Error(), "\r\n") {
				t.Fatalf("line %d of %d: %v", line, len(lines), err)
			}
			return
		}
		rest := ranges
		for _, l := range lines {
			text, _, _ := strings.Cut(string(l), "#")
			p, err := model.ParseNetwork(strings.TrimSpace(text))
			if errors.Is(err, model.ErrNoNetwork) && strings.TrimSpace(text) == "" {
				continue
			}
			switch {
			case err == nil && p.Addr().Is4() && len(rest.V4) > 0 && rest.V4[0] == model.RangeOf(p):
				rest.V4 = rest.V4[1:]
			case err == nil && p.Addr().Is6() && len(rest.V6) > 0 && rest.V6[0] == model.RangeOf6(p):
				rest.V6 = rest.V6[1:]
			default:
				t.Fatalf("%q: %v, %v", l, rest, err)
			}
		}
		if len(rest.V4)+len(rest.V6) > 0 {
			t.Fatalf("%v of no line", rest)
		}
	})
}

// BenchmarkReadSet reads a set of the most entries.
func BenchmarkReadSet(b *testing.B) {
	var text bytes.Buffer
	for i := range uint32(mostInSet) {
		fmt.Fprintln(&text, numbered(i*2654435761))
	}
	for b.Loop() {
		ranges, _, err := parseSet(bytes.NewReader(text.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		ranges.Set()
	}
}

func numbered(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
}
