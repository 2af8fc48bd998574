package datapath

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

var pathFrames = flag.Int("frames", 100_000, "of TestPathFuzz, and of TestTunnelFuzz")

// audited is after how many frames of TestPathFuzz the tables are looked at, and time passes.
const audited = 50_000

// surge is a storm of frames in all the shapes that links have them in, into both forms of the
// data plane at once: their tables are the same.
type surge struct {
	*storm
	shapes
	kinds map[string]int
	sums  int // that were looked at behind the data plane
}

// TestPathFuzz puts fragments, aggregates, partial and complete sums, whole and damaged, into
// the data plane as XDP and as tcx in turns, over the same tables. Nothing leaves untranslated,
// every sum that was right stays so, and the tables agree with each other all the time.
func TestPathFuzz(t *testing.T) {
	t.Parallel()
	g := newGateway(t, capacity(1<<15), outboundAddresses(outbound), sessionReserve(1<<11))
	storm := newStorm(g, []netip.Addr{publicAddress, privateAddress})
	s := &surge{storm: storm, shapes: shapes{storm.r}, kinds: map[string]int{}}
	before := must(dataplane.Audit(g.data))(t)
	began := time.Now()
	g.in(func() error {
		for next := audited; s.step < *pathFrames; {
			if err := s.once(); err != nil {
				return err
			}
			if s.step >= next {
				next += audited
				s.pass()
			}
		}
		return nil
	})
	t.Logf("%d frames in %s, sums of %d looked at; %v", s.step, time.Since(began).Round(time.Second), s.sums, s.kinds)
	s.wantReached("forwarded", "drop_malformed", "drop_fragment", "drop_filtered", "drop_not_syn", "drop_ttl_expired")
	s.leavesNothing(before)
}

// pass lets time pass, some sessions end by it, and looks at the tables.
func (s *storm) pass() {
	s.t.Helper()
	check(s.t, auditError(dataplane.Audit(s.data)))
	check(s.t, dataplane.Age(s.data, time.Duration(s.r.IntN(400))*time.Second))
	must(s.data.Sweep(nil))(s.t)
	check(s.t, auditError(dataplane.Audit(s.data)))
}

// once puts the frames of one packet in.
func (s *surge) once() error {
	public := s.r.IntN(2) == 0
	p := s.odd(s.flow(public))
	if s.r.IntN(8) == 0 {
		p = frames.Random(s.r, s.everyone)
	}
	if p.IPv4 == nil {
		return s.put(public, s.whole(p, choose(s.r, datapath.XDP, datapath.TCX)))
	}
	for _, frame := range s.of(p) {
		if s.r.IntN(6) == 0 {
			frame.Octets, frame.sound, frame.kind = frames.Mutate(s.r, frame.Octets), false, frame.kind+", damaged"
		}
		if err := s.put(public, frame); err != nil {
			return err
		}
	}
	return nil
}

// put puts one frame in and checks what comes out.
func (s *surge) put(public bool, in shaped) error {
	if !runsAt(in.Mode, in.Octets) || len(in.Octets) > longest+200 {
		return nil
	}
	if s.step++; s.step%500 == 0 {
		s.lend()
	}
	s.kinds[in.kind]++
	in.Public, in.Ifindex = public, either(public, s.public, s.private)
	var before map[model.Reason]uint64
	if in.Complete {
		before = s.counters()
	}
	fail := func(problem string, action dataplane.Action, out []byte) error {
		return fmt.Errorf("frame %d, %s, %d segments of %d, sum beside it %v: %s, %v:\nin  (public side %v) % x\nout (%v) % x",
			s.step, in.kind, in.Segments, in.SegmentSize, in.Complete, problem, gained(before, s.counters()), public, in.Octets, action, out)
	}
	action, out, err := dataplane.Inject(s.data, in.Injected)
	switch {
	case errors.Is(err, dataplane.ErrSum):
		if !answered(gained(before, s.counters())) {
			return fail(err.Error(), "", nil)
		}
		return nil
	case err != nil:
		return err
	}
	if problem := s.judge(public, in.Octets, action, out); problem != "" {
		return fail(problem, action, out)
	}
	if after, err := packets.Parse(out); in.sound && action == dataplane.Redirect && err == nil && !isError(after) {
		s.sums++
		if sum, _ := sumOf(after); sum != packets.ChecksumValid {
			return fail("a wrong checksum", action, out)
		}
	}
	return nil
}

// answered says that a packet may have been answered in its place, by the way of a hairpin too: what is written anew has no sum beside it that counts.
func answered(counted map[model.Reason]uint64) bool {
	for reason := range counted {
		if reason.IsDrop() {
			return true
		}
	}
	return counted["forwarded"] == 0
}

// gained are the reasons that were counted since.
func gained(before, now map[model.Reason]uint64) map[model.Reason]uint64 {
	list := map[model.Reason]uint64{}
	for reason, n := range now {
		if n != before[reason] && before != nil {
			list[reason] = n - before[reason]
		}
	}
	return list
}
