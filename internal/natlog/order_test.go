package natlog

import (
	"testing"
	"time"
)

// Who had a port last is found also where the clock was set back in between: in the minute that runs, and in blocks.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.put(Record{Kind: LogBegun}, mapping(MappingBegun, 1, 40000))
	w.pass(100 * time.Second)
	ended := w.at
	w.put(mapping(MappingEnded, 1, 40000))
	w.pass(-8 * time.Second)
	w.put(mapping(MappingBegun, 2, 40000))
	w.pass(20 * time.Second)
	again := w.at
	w.put(mapping(MappingEnded, 2, 40000))
	for range 2 {
		w.says(40000, ended.Add(-20*time.Second), "host1.example until "+ended.Format("15:04:05"))
		w.says(40000, ended.Add(time.Second), "host2.example until "+again.Format("15:04:05"))
		w.says(40000, ended.Add(-5*time.Second), "host2.example until "+again.Format("15:04:05"))
		w.says(40000, again, "")
		w.pass(5 * time.Minute)
		w.put()
	}
}

// A mapping that begins while what stands is written down had nobody before; who had the port then is found in the day before.
func TestBegunWhileWhatStandsIsWritten(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.at = noon.Add(11 * time.Hour)
	w.put(Record{Kind: LogBegun}, mapping(MappingBegun, 1, 40000), mapping(MappingBegun, 1, 40001))
	w.at = noon.Add(12 * time.Hour)
	midnight := w.at
	w.standing = func(visit func(Record)) error {
		began := w.at
		w.pass(time.Second) // the one has ended, and the other begun, until its place is read
		for _, r := range []Record{mapping(MappingStands, 2, 40000), mapping(MappingStands, 1, 40001), mapping(MappingStands, 3, 40002)} {
			r.Time = began
			visit(r)
		}
		w.pass(time.Second)
		return nil
	}
	w.put()
	late := []Record{mapping(MappingEnded, 1, 40000), mapping(MappingBegun, 2, 40000)}
	late[0].Time, late[1].Time = midnight.Add(500*time.Millisecond), midnight.Add(600*time.Millisecond)
	w.put(late...)
	for range 2 {
		w.says(40000, midnight.Add(100*time.Millisecond), "host1.example")
		w.says(40000, midnight.Add(550*time.Millisecond), "")
		w.says(40000, midnight.Add(700*time.Millisecond), "host2.example")
		w.says(40000, midnight.Add(3*time.Second), "host2.example")
		w.says(40001, midnight.Add(100*time.Millisecond), "host1.example")
		w.says(40002, midnight.Add(3*time.Second), "host3.example")
		w.pass(5 * time.Minute)
		w.put()
	}
}

// What stands when the log is turned on may have begun while it was written down: until then it says nothing.
func TestAskedWhileWhatStandsIsWritten(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	w.standing = func(visit func(Record)) error {
		r := mapping(MappingStands, 1, 40000)
		r.Time = w.at
		visit(r)
		w.pass(time.Second)
		return nil
	}
	w.put(Record{Kind: LogBegun, Adopted: true})
	w.says(40000, noon.Add(500*time.Millisecond), "unknown")
	w.says(40000, noon.Add(time.Second), "host1.example")
}
