package planes

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
)

// pins is where data planes lie, a folder for each instance.
const pins = "/sys/fs/bpf/realmgate"

// Most waits for tests in a process at a time, of those that do not take much memory.
const (
	most         = 48 // 12 to 22 MB each
	mostCapacity = 1 << 17
)

// A test waits for a plane that fits where tests have so many alike, but no longer than patience: it may have one of these
// itself. To make one takes the kernel longer than most tests last.
const (
	mostAlike = 4
	patience  = 40 * time.Second
)

// free are the planes that no test has; the one that has waited longest is first.
var free = struct {
	sync.Mutex
	planes  []*plane
	leased  map[string]int             // how many tests have, by their keys
	waiting map[string][]chan struct{} // closed where one comes back
}{leased: map[string]int{}, waiting: map[string][]chan struct{}{}}

// Lease is a test's right to a data plane.
type Lease struct {
	options datapath.Options
	plane   *plane
}

// Take leases a plane that fits the options, which name an instance of the test's own.
func Take(options datapath.Options) *Lease {
	key := options
	key.Instance, key.Logger, key.Public, key.Private, key.Stack, key.Modes, key.WithoutTCX = "", nil, nil, nil, nil, nil, false // the tables are the same
	l := &Lease{options, &plane{key: fmt.Sprintf("%+v", key)}}
	patient := time.NewTimer(patience)
	defer patient.Stop()
	for late := false; ; {
		back := l.take(late)
		if back == nil {
			return l
		}
		select {
		case <-back:
		case <-patient.C:
			late = true
		}
	}
}

// take takes a free plane, or has one made: with nil. Else the test waits until one comes back.
func (l *Lease) take(late bool) chan struct{} {
	free.Lock()
	defer free.Unlock()
	key := l.plane.key
	if i := l.best(); i >= 0 {
		l.plane = free.planes[i]
		free.planes = slices.Delete(free.planes, i, i+1)
	} else if free.leased[key] >= mostAlike && !late {
		back := make(chan struct{})
		free.waiting[key] = append(free.waiting[key], back)
		return back
	}
	free.leased[key]++
	return nil
}

// comeBack has those look again who wait for a plane of the key.
func comeBack(key string) {
	free.leased[key]--
	for _, back := range free.waiting[key] {
		close(back)
	}
	delete(free.waiting, key)
}

// best is the place of the free plane that fits, -1 where none does: of those that do, one that has the programs of both
// forms for a test that may want those for socket buffers, and for another one that has not.
func (l *Lease) best() int {
	modes := slices.Collect(maps.Values(l.options.Modes))
	buffers := len(modes) == 0 || slices.Contains(modes, datapath.TCX)
	best := -1
	for i, p := range free.planes {
		if p.key != l.plane.key {
			continue
		}
		if best < 0 || len(p.programs) != len(free.planes[best].programs) && buffers == (len(p.programs) > len(free.planes[best].programs)) {
			best = i
		}
	}
	return best
}

// Open opens it in the network namespace of the caller, as new.
func (l *Lease) Open() (*datapath.Datapath, error) {
	kept := l.plane.tables != nil
	if kept {
		if err := l.plane.place(l.directory()); err != nil {
			return nil, err
		}
	}
	d, err := datapath.Open(l.options)
	switch {
	case err != nil:
		return nil, err
	case kept && !d.Adopted():
		return d, fmt.Errorf("the plane for %s was not adopted", l.options.Instance)
	case !kept && l.options.Capacity <= mostCapacity:
		return d, l.plane.remember(l.directory())
	}
	return d, nil
}

// Release gives the plane to the next test, unless this one has broken it. Before, the test closes it and keeps what is
// pinned.
func (l *Lease) Release(broken bool) {
	key := l.plane.key
	if broken || l.plane.takeBack(l.directory()) != nil {
		l.plane.discard()
		l.plane = nil
	}
	_ = os.RemoveAll(l.directory())
	free.Lock()
	defer free.Unlock()
	comeBack(key)
	if l.plane == nil {
		return
	}
	if len(free.planes) == most {
		free.planes[0].discard()
		free.planes = free.planes[1:]
	}
	free.planes = append(free.planes, l.plane)
}

func (l *Lease) directory() string { return pins + "/" + l.options.Instance }
