package natlog

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/realmgate/realmgate/internal/model"
)

var (
	outside = netip.MustParseAddr("192.0.2.1")
	noon    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

// writer is a folder with a clock of its own, of which nothing stands.
type writer struct {
	*folder
	t     testing.TB
	at    time.Time
	stood []Record
}

func newWriter(t testing.TB) *writer {
	t.Helper()
	return again(t, t.TempDir(), noon)
}

// again is another process' folder.
func again(t testing.TB, path string, at time.Time) *writer {
	w := &writer{t: t, at: at}
	w.folder = newFolder(path, 48*time.Hour, func() time.Time { return w.at }, slog.New(slog.DiscardHandler), func(visit func(Record)) error {
		for _, r := range w.stood {
			r.Time = w.at
			visit(r)
		}
		return nil
	})
	return w
}

func (w *writer) put(records ...Record) {
	w.t.Helper()
	for i := range records {
		if records[i].Time.IsZero() {
			records[i].Time = w.at
		}
	}
	if n, err := w.deliver(context.Background(), records); err != nil || n != len(records) {
		w.t.Fatalf("%d of %d records, %v", n, len(records), err)
	}
}

func (w *writer) pass(d time.Duration) { w.at = w.at.Add(d) }

func mapping(kind Kind, host byte, port uint16) Record {
	return Record{
		Kind: kind, Protocol: model.UDP, External: netip.AddrPortFrom(outside, port), Synchronised: true,
		Private: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, host}), port), Host: fmt.Sprintf("host%d.example", host),
	}
}

// who is what the files say, in short.
func (w *writer) who(port uint16, at time.Time) string {
	w.t.Helper()
	said, err := (&folder{path: w.path}).look(query{outside, port, model.AnyProtocol, at})
	if err != nil {
		w.t.Fatal(err)
	}
	return summary(said, at)
}

// summary is that of an answer about a time.
func summary(said found, at time.Time) string {
	var text []string
	for _, u := range said.users {
		one := u.record.Host
		if !u.until.IsZero() {
			one += " until " + u.until.UTC().Format("15:04:05")
		}
		text = append(text, one)
	}
	if said.lost > 0 {
		text = append(text, fmt.Sprintf("lost %d", said.lost))
	}
	if said.gap {
		text = append(text, "interrupted")
	}
	if said.first.After(at) {
		text = append(text, "unknown")
	}
	return strings.Join(text, ", ")
}

func (w *writer) says(port uint16, at time.Time, want string) {
	w.t.Helper()
	if got := w.who(port, at); got != want {
		w.t.Errorf("port %d at %s: %q, want %q", port, at.Format("15:04:05.000"), got, want)
	}
}

// Who had a port is found in the running minute, in earlier ones, and behind the end of a day; between two users it is nobody.
func TestWhoHadAPort(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.put(Record{Kind: LogBegun})
	w.pass(time.Second)
	w.put(mapping(MappingBegun, 1, 40000), mapping(MappingBegun, 2, 40001))
	w.says(40000, w.at, "host1.example")
	w.says(40000, w.at.Add(-time.Millisecond), "")
	w.says(40002, w.at, "")
	w.says(40000, noon.Add(-time.Hour), "unknown")
	w.pass(10 * time.Second)
	w.put(mapping(MappingEnded, 1, 40000))
	w.pass(10 * time.Second)
	w.put(mapping(MappingBegun, 3, 40000))
	for range 2 { // in the running minute, and in a block
		w.says(40000, noon.Add(5*time.Second), "host1.example until 12:00:11")
		w.says(40000, noon.Add(15*time.Second), "")
		w.says(40000, noon.Add(time.Hour), "host3.example")
		w.says(40001, noon.Add(time.Hour), "host2.example")
		w.pass(5 * time.Minute)
		w.put()
	}
	w.pass(time.Hour)
	w.put(mapping(MappingEnded, 3, 40000))
	w.says(40000, noon.Add(time.Hour), "host3.example until 13:10:21")
	w.says(40000, noon.Add(2*time.Hour), "")

	w.at = noon.Add(13 * time.Hour) // the next day
	w.stood = []Record{mapping(MappingStands, 2, 40001)}
	w.put()
	for name, mode := range map[string]os.FileMode{"nat-2026-11-30.jsonl.zst": 0o640, "nat-2026-11-30.index": 0o640, "nat-2026-12-01.jsonl": 0o640} {
		if info, err := os.Stat(filepath.Join(w.path, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	w.pass(time.Minute)
	w.put(mapping(MappingEnded, 2, 40001))
	w.says(40001, w.at.Add(-time.Second), "host2.example until 01:01:00")
	w.says(40001, noon.Add(11*time.Hour), "host2.example")
	w.says(40000, w.at, "")

	w.pass(72 * time.Hour)
	w.put()
	left, _ := filepath.Glob(w.path + "/*")
	if len(left) != 3 {
		t.Errorf("after the days that it is kept there are %v", left)
	}
}

// A process that is killed leaves a minute's lines, and perhaps half of a line, a frame without a section, or a section whose
// lines have not gone. The next one goes on, and no line is lost or there twice.
func TestFilesOutliveACrash(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(w *writer, lines []byte) error{
		"lines": func(*writer, []byte) error { return nil },
		"half":  func(w *writer, _ []byte) error { return extend(w.name("2026-11-30", running), `{"time":"2026-11-3`) },
		"frame": func(w *writer, _ []byte) error { return extend(w.name("2026-11-30", packed), "half of a frame") },
		"section": func(w *writer, _ []byte) error {
			return extend(w.name("2026-11-30", indexed), string(newBlock().section(9, 9)[:40]))
		},
		"zeros": func(w *writer, _ []byte) error { // of a power cut: the length was written, and what it is of not
			return extend(w.name("2026-11-30", indexed), string(make([]byte, 4096)))
		},
		"again": func(w *writer, lines []byte) error {
			w.pass(time.Minute)
			w.put()
			return os.WriteFile(w.name("2026-11-30", running), lines, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t)
			w.put(mapping(MappingBegun, 1, 40000))
			w.pass(time.Minute)
			w.put(mapping(MappingBegun, 2, 40001))
			lines, err := os.ReadFile(w.name("2026-11-30", running))
			if err == nil {
				err = damage(w, lines)
			}
			if err != nil {
				t.Fatal(err)
			}
			next := again(t, w.path, w.at.Add(time.Minute))
			next.stood = []Record{mapping(MappingStands, 1, 40000), mapping(MappingStands, 2, 40001)}
			next.put(Record{Kind: LogBegun, Adopted: true}, mapping(MappingEnded, 1, 40000))
			next.says(40000, noon, "host1.example until "+next.at.Format("15:04:05"))
			next.says(40001, next.at, "host2.example")
			if err := next.close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(kindsIn(t, next.name("2026-11-30", packed)), " "); got != "mapping_begun mapping_begun mapping_stands mapping_stands log_begun mapping_ended" {
				t.Errorf("the file has %s", got)
			}
		})
	}
}

func extend(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = f.WriteString(text)
	return err
}

// kindsIn reads a compressed file as anybody would.
func kindsIn(t *testing.T, path string) (list []string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unpack, err := zstd.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer unpack.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(unpack); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		r, err := readLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r.Kind.String())
	}
	return list
}

// What is not known is said: what was lost, that the log was off, and that nothing outlives a data plane.
func TestWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.put(mapping(MappingBegun, 1, 40000))
	w.pass(2 * time.Minute)
	w.put(Record{Kind: Lost, Count: 7})
	w.pass(2 * time.Minute)
	w.put()
	w.says(40000, noon.Add(time.Minute), "host1.example")
	w.says(40000, w.at, "host1.example, lost 7")
	w.put(Record{Kind: LogEnded, Adopted: true})
	w.pass(2 * time.Minute)
	w.put(Record{Kind: LogBegun, Adopted: true})
	w.says(40000, w.at, "host1.example, lost 7, interrupted")
	w.pass(2 * time.Minute)
	w.put(Record{Kind: LogEnded})
	w.pass(2 * time.Minute)
	w.put(Record{Kind: LogBegun})
	w.says(40000, w.at, "")
	w.says(40000, noon.Add(time.Second), "host1.example")
}

// A port of the pool's is found by its protocol and port, and an address that is lent whole by any.
func TestWhoHadAnAddressOfThePool(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	one := mapping(AddressLent, 1, 80)
	one.Protocol = model.TCP
	whole := mapping(AddressLent, 2, 0)
	whole.Protocol, whole.External = model.AnyProtocol, netip.AddrPortFrom(outside.Next(), 0)
	w.put(one, whole)
	w.says(80, w.at, "host1.example")
	w.says(81, w.at, "")
	for _, port := range []uint16{0, 80, 65535} {
		said, err := w.look(query{outside.Next(), port, model.TCP, w.at})
		if err != nil || len(said.users) != 1 || said.users[0].record.Host != "host2.example" {
			t.Errorf("port %d of an address that is lent whole: %+v, %v", port, said, err)
		}
	}
}

// allKinds is what the compressed files of a directory have, the first day first.
func allKinds(t *testing.T, folder string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"+packed))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		list = append(list, kindsIn(t, file)...)
	}
	return list
}
