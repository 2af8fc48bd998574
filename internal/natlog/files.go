package natlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	dayForm  = "2006-01-02"
	before   = "nat-"
	running  = ".jsonl"     // the lines of the minute that runs
	packed   = ".jsonl.zst" // all others of the day, frame behind frame
	indexed  = ".index"
	aside    = ".damaged-" // behind the name of a file that was, and before when that was
	fileMode = 0o640
)

// folder is an outlet to files, of each day three. The lines of a minute stand as they are until it is over. Then they are one
// frame more of the compressed file, and a section of the index. A crash in between leaves what the next start repairs.
type folder struct {
	path string
	keep time.Duration
	now  func() time.Time
	log  *slog.Logger
	// standing visits what stands.
	standing func(visit func(Record)) error

	day    string // of the files that are open, empty: none
	data   *os.File
	index  *os.File
	open   *os.File
	placed int64 // octets of data that sections tell of
	part   int64 // octets of open that are whole lines
	block  *block
	pack   *zstd.Encoder
}

func newFolder(path string, keep time.Duration, now func() time.Time, log *slog.Logger, standing func(func(Record)) error) *folder {
	pack, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)) // fails for wrong options alone
	return &folder{path: path, keep: keep, now: now, log: log, standing: standing, block: newBlock(), pack: pack}
}

func (f *folder) name(day, kind string) string { return filepath.Join(f.path, before+day+kind) }

// deliver implements outlet. Without records it ends the minute, or the day, if that is over.
func (f *folder) deliver(_ context.Context, records []Record) (int, error) {
	if err := f.turn(f.now()); err != nil {
		return 0, err
	}
	for i := range records {
		if milli(records[i].Time)/60000 > f.minute() {
			if err := f.commit(); err != nil {
				return i, err
			}
		}
		if err := f.add(&records[i]); err != nil {
			return i, err
		}
	}
	return len(records), f.write()
}

// minute is that of the running block.
func (f *folder) minute() int64 {
	if f.block.marks.Last == 0 {
		return 1 << 40
	}
	return f.block.marks.Last / 60000
}

// turn begins a day, and ends a minute.
func (f *folder) turn(now time.Time) error {
	day := now.UTC().Format(dayForm)
	switch {
	case day > f.day:
		if err := f.begin(day); err != nil {
			return err
		}
		if err := f.stand(); err != nil {
			return err
		}
		return f.expire(now)
	case milli(now)/60000 > f.minute():
		return f.commit()
	}
	return nil
}

func (f *folder) add(r *Record) error {
	if len(f.block.lines) >= mostBlock {
		if err := f.commit(); err != nil {
			return err
		}
	}
	f.block.add(r)
	return nil
}

// stand writes down what stands.
func (f *folder) stand() error {
	began := milli(f.now())
	var failed error
	err := f.standing(func(r Record) {
		if failed == nil {
			failed = f.add(&r)
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("write down what stands: %w", err)
	}
	m := &f.block.marks
	m.Began, m.Over = began, milli(f.now())
	m.Last = max(m.Last, m.Over)
	if m.First == 0 {
		m.First = m.Began
	}
	return f.commit() // the lines of a minute that runs do not say when that was over
}

// write adds the lines to the file of the minute that are not in it.
func (f *folder) write() error {
	if int64(len(f.block.lines)) == f.part {
		return nil
	}
	// At its place: what a full disk took of it before is written again.
	if _, err := f.open.WriteAt(f.block.lines[f.part:], f.part); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	f.part = int64(len(f.block.lines))
	return nil
}

// commit makes a frame of the minute's lines, and a section: first what is told of, then what tells, then the lines go.
func (f *folder) commit() error {
	if len(f.block.lines) == 0 && f.block.marks == (marks{}) {
		return nil
	}
	frame := f.pack.EncodeAll(f.block.lines, nil)
	if _, err := f.data.WriteAt(frame, f.placed); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	if err := f.data.Sync(); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	end, err := f.index.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.index.WriteAt(f.block.section(f.placed, len(frame)), end)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the log's index: %w", err), f.index.Truncate(end))
	}
	if err := errors.Join(f.index.Sync(), f.open.Truncate(0)); err != nil {
		return fmt.Errorf("write the log's index: %w", err)
	}
	f.placed += int64(len(frame))
	f.part = 0
	lines := f.block.lines[:0]
	f.block = newBlock()
	f.block.lines = lines
	return nil
}

// begin opens the files of a day, and ends those of the day before.
func (f *folder) begin(day string) error {
	if f.day != "" {
		if err := f.commit(); err != nil {
			return err
		}
		if err := f.end(); err != nil {
			return err
		}
	}
	left, err := f.days(running)
	if err != nil {
		return err
	}
	for _, d := range left {
		if d == day {
			continue
		}
		if err := f.take(d); err != nil { // a crash has left it
			return err
		}
		if err := f.end(); err != nil {
			return err
		}
	}
	return f.take(day)
}

// take opens the files of a day. Damaged ones it puts aside, and begins new ones.
func (f *folder) take(day string) error {
	err := f.repair(day)
	if !errors.Is(err, errIndex) {
		return err
	}
	suffix := aside + f.now().UTC().Format("20060102T150405")
	f.log.Warn("damaged log put aside", "day", day, "suffix", suffix, "error", err)
	for _, kind := range []string{packed, indexed, running} {
		if err := os.Rename(f.name(day, kind), f.name(day, kind)+suffix); err != nil {
			return fmt.Errorf("put a damaged log aside: %w", err)
		}
	}
	return f.repair(day)
}

// end closes the files of a day, of which no minute runs.
func (f *folder) end() error {
	err := errors.Join(f.data.Close(), f.index.Close(), f.open.Close(), os.Remove(f.name(f.day, running)))
	f.day = ""
	return err
}

// repair opens the files of a day, and makes a frame of the lines that a process has left.
func (f *folder) repair(day string) (err error) {
	opened := []*os.File{}
	defer func() {
		if err != nil {
			for _, file := range opened {
				_ = file.Close()
			}
		}
	}()
	for _, kind := range []string{packed, indexed, running} {
		file, err := open(f.name(day, kind))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: make the directory", err)
		}
		if err != nil {
			return err
		}
		opened = append(opened, file)
	}
	f.data, f.index, f.open = opened[0], opened[1], opened[2]
	size, err := f.index.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("read the log's index: %w", err)
	}
	all, whole, err := sections(f.index, size)
	if err != nil {
		return fmt.Errorf("%s: %w", f.index.Name(), err)
	}
	f.placed, f.part, f.block = 0, 0, newBlock()
	var last head
	for _, p := range all {
		last = p.head
		f.placed = int64(p.At) + int64(p.Frame)
	}
	if err := errors.Join(f.index.Truncate(whole), f.data.Truncate(f.placed)); err != nil {
		return fmt.Errorf("repair the log: %w", err)
	}
	lines, err := io.ReadAll(f.open)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
	if sum(lines) != last.Sum || len(lines) != int(last.Lines) { // else the section is there, and the lines were to go
		for line := range bytes.Lines(lines) {
			if r, err := readLine(bytes.TrimSpace(line)); err == nil {
				f.block.note(&r)
			}
		}
		f.block.lines = lines
	}
	f.day = day
	return f.commit()
}

// open opens a file, or makes it: for those that fileMode says, whatever the umask is.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode); err != nil {
		return nil, err
	}
	if err := file.Chmod(fileMode); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// days are those of which there are files of a kind, the first first.
func (f *folder) days(kind string) ([]string, error) {
	found, err := filepath.Glob(f.name("*", kind))
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[i]), before), kind)
	}
	return found, nil
}

// expire removes the files that are older than they are kept.
func (f *folder) expire(now time.Time) error {
	oldest := now.Add(-f.keep).UTC().Format(dayForm)
	days, err := f.days(packed)
	if err != nil {
		return err
	}
	for _, day := range days {
		if day < oldest {
			err = errors.Join(err, os.Remove(f.name(day, packed)), os.Remove(f.name(day, indexed)))
		}
	}
	damaged, failed := filepath.Glob(f.name("*", aside) + "*")
	err = errors.Join(err, failed)
	for _, path := range damaged {
		if strings.TrimPrefix(filepath.Base(path), before) < oldest {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if err != nil {
		return fmt.Errorf("remove what is older than the log is kept: %w", err)
	}
	return nil
}

// close implements outlet.
func (f *folder) close(context.Context) error {
	if f.day == "" {
		return nil
	}
	return errors.Join(f.commit(), f.end())
}
