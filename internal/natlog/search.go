package natlog

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/model"
)

// query asks who had an endpoint at a time.
type query struct {
	address  netip.Addr // IPv4
	port     uint16     // 0: of protocols without ports
	protocol model.Protocol
	at       time.Time
}

// user is who had an endpoint at the time that is asked about.
type user struct {
	record Record    // by which it is known
	until  time.Time // zero: for as long as that day's files say
}

// found is what the log says of a time.
type found struct {
	users []user
	first time.Time // of what was looked at: where it is later than what was asked for, there is no log of then
	lost  uint64    // records, between what is known and the time that is asked about
	gap   bool      // the log was not kept for a while in between
}

// keysOf are the endpoints under which somebody can have an address and a port: as a mapping, as a service, or with all ports.
func keysOf(q query) []key {
	address := q.address.As4()
	keys := []key{{address, 0, 0}}
	protocols := []model.Protocol{q.protocol}
	if q.protocol == model.AnyProtocol {
		protocols = []model.Protocol{model.UDP, model.TCP, model.ICMP}
	}
	for _, p := range protocols {
		keys = append(keys, key{address, p, q.port})
		if p == model.ICMP && q.port != 0 {
			keys = append(keys, key{address, p, 0}) // of a service
		}
	}
	return keys
}

// day is the files of one, open to be read.
type day struct {
	parts []part
	index []byte // mapped into memory
	data  *os.File
	open  *block // the minute that runs, or that a crash has left; nil: there is none
}

// openDay opens them. What is not there is not looked at.
func (f *folder) openDay(name string) (_ *day, err error) {
	d := &day{}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	// The running minute first: when it has gone meanwhile, the index has it.
	lines, err := os.ReadFile(f.name(name, running))
	if err == nil && len(lines) > 0 {
		if d.open, err = readBlock(lines); err != nil {
			return nil, err
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	index, err := os.Open(f.name(name, indexed))
	if err != nil {
		return nil, err
	}
	defer func() { _ = index.Close() }()
	if d.data, err = os.Open(f.name(name, packed)); err != nil {
		return nil, err
	}
	info, err := index.Stat()
	if err != nil || info.Size() == 0 {
		return d, err
	}
	if d.index, err = unix.Mmap(int(index.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map the log's index into memory: %w", err)
	}
	if d.parts, _, err = sections(d.index); err != nil {
		return nil, fmt.Errorf("%s: %w", index.Name(), err)
	}
	return d, nil
}

func (d *day) close() {
	if d.index != nil {
		_ = unix.Munmap(d.index)
	}
	if d.data != nil {
		_ = d.data.Close()
	}
}

// lines are those of a part.
func (d *day) lines(p *part, unpack *zstd.Decoder) ([]byte, error) {
	frame := make([]byte, p.Frame)
	if _, err := d.data.ReadAt(frame, int64(p.At)); err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	lines, err := unpack.DecodeAll(frame, make([]byte, 0, p.Lines))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	return lines, nil
}

// search goes backwards from a time until it knows who had each endpoint then.
type search struct {
	keys   []key
	at     int64
	best   map[key]Record
	floor  int64 // what is older says nothing more
	fresh  int64 // nothing of before stands
	gaps   []marks
	first  int64
	unpack *zstd.Decoder
}

// look looks at the files of days, the last first, and says of what it has found until when that was so.
func (f *folder) look(q query) (found, error) {
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return found{}, err
	}
	defer unpack.Close()
	s := &search{keys: keysOf(q), at: milli(q.at), best: map[key]Record{}, unpack: unpack}
	days, err := f.days(indexed)
	if err != nil {
		return found{}, err
	}
	until := map[key]time.Time{}
	var failed error
	for _, name := range slices.Backward(days) {
		if name > q.at.UTC().AddDate(0, 0, 1).Format(dayForm) {
			continue // what happens around midnight may be in the files of the next day
		}
		d, err := f.openDay(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been removed
		}
		if err != nil {
			return found{}, err
		}
		done, err := s.day(d)
		if err == nil {
			err = s.ends(d, until)
		}
		d.close()
		if done || err != nil {
			failed = err
			break
		}
	}
	return s.says(until), failed
}

// day looks at the files of a day; it is true when earlier ones say nothing more.
func (s *search) day(d *day) (bool, error) {
	if d.open != nil {
		s.first = d.open.marks.First
		s.note(d.open.marks)
		if err := s.read(d.open.lines, s.keys); err != nil {
			return false, err
		}
	}
	for i := range slices.Backward(d.parts) {
		p := &d.parts[i]
		s.first = p.Marks.First
		if p.Marks.First > s.at {
			continue
		}
		if p.Marks.Last < s.floor {
			return true, nil
		}
		s.note(p.Marks)
		wanted := slices.DeleteFunc(slices.Clone(s.keys), func(k key) bool {
			best, known := s.best[k]
			return known && milli(best.Time) > p.Marks.Last || !p.has(k)
		})
		if len(wanted) == 0 {
			continue
		}
		lines, err := d.lines(p, s.unpack)
		if err == nil {
			err = s.read(lines, wanted)
		}
		if err != nil {
			return false, err
		}
	}
	return s.known(), nil
}

// known reports whether earlier files can say nothing: each endpoint has its last word, or what stood was written down.
func (s *search) known() bool {
	if s.floor > 0 && s.first < s.floor {
		return true
	}
	for _, k := range s.keys {
		if best, ok := s.best[k]; !ok || milli(best.Time) >= s.first {
			return false
		}
	}
	return true
}

func (s *search) note(m marks) {
	if m.Over > 0 && m.Over <= s.at {
		s.floor = max(s.floor, m.Began)
	}
	if m.Fresh > 0 && m.Fresh <= s.at {
		s.floor, s.fresh = max(s.floor, m.Fresh), max(s.fresh, m.Fresh)
	}
	if m.Lost > 0 || m.Paused > 0 {
		s.gaps = append(s.gaps, m)
	}
}

// read takes the last word of each endpoint among lines.
func (s *search) read(lines []byte, wanted []key) error {
	return find(lines, wanted, func(k key, r Record) {
		at := milli(r.Time)
		if best, known := s.best[k]; at <= s.at && (!known || !r.Time.Before(best.Time)) {
			s.best[k] = r
		}
	})
}

// ends looks for when those in the files of a day ended who have an endpoint.
func (s *search) ends(d *day, until map[key]time.Time) error {
	for k, best := range s.best {
		if _, known := until[k]; known || !best.Kind.begins() {
			continue
		}
		visit := func(_ key, r Record) {
			if _, known := until[k]; !known && milli(r.Time) > s.at && r.Kind != MappingStands && r.Kind != AddressStands {
				until[k] = r.Time
			}
		}
		for i := range d.parts {
			p := &d.parts[i]
			if _, known := until[k]; known || p.Marks.Last < s.at || !p.has(k) {
				continue
			}
			lines, err := d.lines(p, s.unpack)
			if err == nil {
				err = find(lines, []key{k}, visit)
			}
			if err != nil {
				return err
			}
		}
		if d.open != nil {
			if err := find(d.open.lines, []key{k}, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *search) says(until map[key]time.Time) found {
	said := found{first: time.UnixMilli(s.first).UTC()}
	since := s.floor
	for _, k := range s.keys {
		best, known := s.best[k]
		if !known || !best.Kind.begins() || milli(best.Time) < s.fresh {
			continue
		}
		said.users = append(said.users, user{best, until[k]})
		since = milli(best.Time)
	}
	for _, m := range s.gaps {
		if m.Last >= since {
			said.lost += m.Lost
			said.gap = said.gap || m.Paused >= since && m.Paused <= s.at
		}
	}
	return said
}
