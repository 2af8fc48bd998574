package planes

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/realmgate/realmgate/internal/datapath"
)

// pins is where data planes lie, a folder for each instance.
const pins = "/sys/fs/bpf/realmgate"

// Most waits for tests in a process at a time, of those that do not take much memory.
const (
	most         = 48 // 12 to 22 MB each
	mostCapacity = 1 << 17
)

// free are the planes that no test has; the one that has waited longest is first.
var free struct {
	sync.Mutex
	planes []*plane
}

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
	free.Lock()
	defer free.Unlock()
	if i := l.best(); i >= 0 {
		l.plane = free.planes[i]
		free.planes = slices.Delete(free.planes, i, i+1)
	}
	return l
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
	if broken || l.plane.takeBack(l.directory()) != nil {
		l.plane.discard()
		l.plane = nil
	}
	_ = os.RemoveAll(l.directory())
	if l.plane == nil {
		return
	}
	free.Lock()
	defer free.Unlock()
	if len(free.planes) == most {
		free.planes[0].discard()
		free.planes = free.planes[1:]
	}
	free.planes = append(free.planes, l.plane)
}

func (l *Lease) directory() string { return pins + "/" + l.options.Instance }
