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
	more  bool      // there are more users, who are not told
	floor int64     // what is older was not looked at; 0: all was
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
	name        string
	parts       []part
	index, data *os.File
	open        *block // the minute that runs, or that a crash has left, behind all parts; nil: there is none
}

// openDay opens them. What is not there is not looked at.
func (f *folder) openDay(name string) (_ *day, err error) {
	d := &day{name: name}
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
	if d.index, err = os.Open(f.name(name, indexed)); err != nil {
		return nil, err
	}
	if d.data, err = os.Open(f.name(name, packed)); err != nil {
		return nil, err
	}
	info, err := d.index.Stat()
	if err != nil {
		return nil, err
	}
	if d.parts, _, err = sections(d.index, info.Size()); err != nil {
		return nil, fmt.Errorf("%s: %w", d.index.Name(), err)
	}
	return d, nil
}

func (d *day) close() {
	if d.index != nil {
		_ = d.index.Close()
	}
	if d.data != nil {
		_ = d.data.Close()
	}
}

// among are the endpoints of which there are lines in a part.
func (d *day) among(p *part, keys []key) ([]key, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	g := make(groups, int(p.Length)-headLength)
	if _, err := d.index.ReadAt(g, p.groups); err != nil {
		return nil, fmt.Errorf("read the log's index: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return !g.has(k) }), nil
}

// lines are those of a part.
func (d *day) lines(p *part, unpack *zstd.Decoder) ([]byte, error) {
	if p.Frame > 2*mostBlock || p.Lines > 2*mostBlock { // nobody writes that
		return nil, errIndex
	}
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

// search goes backwards from a time until it knows who had each endpoint then. Of what had happened by then the last in the files
// is the last word: their order is that of what happened, also where the clock was set back.
type search struct {
	keys   []key
	at     int64
	best   map[key]word
	floor  int64 // what is older says nothing more
	fresh  int64 // nothing of before stands
	stood  []marks
	blind  int64 // when it was known what stands, of which something was found; 0: it was before
	gaps   []marks
	first  int64
	unpack *zstd.Decoder
}

// word is the last that is said of an endpoint, and where.
type word struct {
	Record
	day         string
	part, place int
	fresh       int64 // of what stands behind it, or beside
}

// look looks at the files of days, the last first, and says of what it has found until when that was so.
func (f *folder) look(q query) (found, error) {
	said, _, err := f.lookFor(keysOf(q), q.at)
	return said, err
}

// lookFor is look for some endpoints; words are the last of each.
func (f *folder) lookFor(keys []key, at time.Time) (said found, words map[key]word, err error) {
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return said, nil, err
	}
	defer unpack.Close()
	s := &search{keys: keys, at: milli(at), best: map[key]word{}, unpack: unpack}
	days, err := f.days(indexed)
	if err != nil {
		return said, nil, err
	}
	until := map[key]time.Time{}
	var failed error
	for _, name := range slices.Backward(days) {
		if name > at.UTC().AddDate(0, 0, 1).Format(dayForm) {
			continue // what happens around midnight may be in the files of the next day
		}
		d, err := f.openDay(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been removed
		}
		if err != nil {
			return said, nil, err
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
	return s.says(until), s.best, failed
}

// day looks at the files of a day; it is true when earlier ones say nothing more.
func (s *search) day(d *day) (bool, error) {
	if d.open != nil {
		s.first = d.open.marks.First
		s.note(d.open.marks)
		if err := s.read(d, len(d.parts), d.open.lines, s.unknown()); err != nil {
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
		wanted, err := d.among(p, s.unknown())
		if err != nil {
			return false, err
		}
		if len(wanted) == 0 {
			continue
		}
		lines, err := d.lines(p, s.unpack)
		if err == nil {
			err = s.read(d, i, lines, wanted)
		}
		if err != nil {
			return false, err
		}
	}
	return len(s.unknown()) == 0 || s.floor > 0 && s.first < s.floor, nil
}

// unknown are the endpoints that have no last word yet.
func (s *search) unknown() []key {
	return slices.DeleteFunc(slices.Clone(s.keys), func(k key) bool {
		_, known := s.best[k]
		return known
	})
}

func (s *search) note(m marks) {
	if m.Over > 0 {
		s.stood = append(s.stood, m)
	}
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
func (s *search) read(d *day, part int, lines []byte, wanted []key) error {
	return find(lines, wanted, func(k key, r Record, place int) {
		if milli(r.Time) <= s.at && (!r.Kind.stands() || s.certain(milli(r.Time))) {
			s.best[k] = word{r, d.name, part, place, s.fresh}
		}
	})
}

// certain reports whether what stood at a time did so at the time that is asked about, too: all that stands was written down
// by then. While that went on it may have begun. What a crash has ended was never written down whole.
func (s *search) certain(at int64) bool {
	for _, m := range s.stood {
		if m.Began <= at && at <= m.Over {
			if m.Over > s.at {
				s.blind = max(s.blind, m.Over)
			}
			return m.Over <= s.at
		}
	}
	return false
}

// ends looks for when those who have an endpoint by the files of a day ended.
func (s *search) ends(d *day, until map[key]time.Time) error {
	for k, best := range s.best {
		if best.day != d.name || !best.Kind.begins() {
			continue
		}
		visit := func(part int) func(key, Record, int) {
			return func(_ key, r Record, place int) {
				behind := part > best.part || place > best.place
				if _, known := until[k]; !known && behind && milli(r.Time) > s.at && !r.Kind.stands() {
					until[k] = r.Time
				}
			}
		}
		for i := best.part; i < len(d.parts); i++ {
			p := &d.parts[i]
			if _, known := until[k]; known || p.Marks.Last < s.at {
				continue
			}
			wanted, err := d.among(p, []key{k})
			if err != nil {
				return err
			}
			if len(wanted) == 0 {
				continue
			}
			lines, err := d.lines(p, s.unpack)
			if err == nil {
				err = find(lines, wanted, visit(i))
			}
			if err != nil {
				return err
			}
		}
		if d.open != nil {
			if err := find(d.open.lines, []key{k}, visit(len(d.parts))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *search) says(until map[key]time.Time) found {
	said := found{first: time.UnixMilli(s.first).UTC(), floor: s.floor}
	if s.blind > 0 && s.floor == 0 && len(s.unknown()) > 0 {
		said.first = time.UnixMilli(s.blind).UTC()
	}
	since := s.floor
	for _, k := range s.keys {
		best, known := s.best[k]
		if !known || !best.Kind.begins() || milli(best.Time) < best.fresh {
			continue
		}
		said.users = append(said.users, user{best.Record, until[k]})
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
