package allocation

import (
	"context"
	"encoding/json"
	"net/netip"
	"sync"
	"time"
)

// keeper writes which service has which address. Whoever is answered with an address that moved waits until the
// disk has it: after a crash the file would else send clients to the host that had it before. Moves that come
// together are written together.
type keeper struct {
	store Store
	tell  func(error) // the disk begins to fail, or, with nil, has all again

	mutex   sync.Mutex
	dirty   map[netip.Addr][]keptBinding // to be written; nil: the address is free
	put     uint64                       // counts what was put
	written uint64                       // as far as the disk has it, or has refused it
	moved   chan struct{}                // closed and replaced when written grows
	kick    chan struct{}
	fault   error
}

// writeWait is how long an answer waits for a disk that neither takes nor refuses.
const writeWait = 500 * time.Millisecond

// retryEvery is how often a disk that refused is tried again.
const retryEvery = 5 * time.Second

func newKeeper(s Store, tell func(error)) *keeper {
	return &keeper{store: s, tell: tell, dirty: map[netip.Addr][]keptBinding{}, moved: make(chan struct{}), kick: make(chan struct{}, 1)}
}

// note has the address written as it is now, and returns the ticket to wait for.
func (k *keeper) note(address netip.Addr, bindings []keptBinding) uint64 {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.dirty[address] = bindings
	k.put++
	select {
	case k.kick <- struct{}{}:
	default:
	}
	return k.put
}

// await returns when the disk has what the ticket is of, or cannot.
func (k *keeper) await(ctx context.Context, ticket uint64) {
	limit := time.NewTimer(writeWait)
	defer limit.Stop()
	for {
		k.mutex.Lock()
		written, moved := k.written, k.moved
		k.mutex.Unlock()
		if written >= ticket {
			return
		}
		select {
		case <-moved:
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// run writes what is noted until ctx ends.
func (k *keeper) run(ctx context.Context) {
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.kick:
		case <-retry.C:
		}
		k.flush()
	}
}

// flush writes what is noted. What the disk refuses stays noted.
func (k *keeper) flush() {
	k.mutex.Lock()
	batch, upTo := k.dirty, k.put
	k.dirty = map[netip.Addr][]keptBinding{}
	k.mutex.Unlock()
	var err error
	if len(batch) > 0 {
		err = k.write(batch)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err != nil {
		for address, bindings := range batch {
			if _, newer := k.dirty[address]; !newer {
				k.dirty[address] = bindings
			}
		}
	}
	if (err == nil) != (k.fault == nil) {
		k.tell(err)
	}
	k.fault = err
	k.written = max(k.written, upTo)
	close(k.moved)
	k.moved = make(chan struct{})
}

func (k *keeper) write(batch map[netip.Addr][]keptBinding) error {
	put, remove := make(map[string][]byte, len(batch)), []string(nil)
	for address, bindings := range batch {
		if len(bindings) == 0 {
			remove = append(remove, address.String())
			continue
		}
		text, err := json.Marshal(bindings)
		if err != nil {
			return err
		}
		put[address.String()] = text
	}
	return k.store.Change(bucket, put, remove)
}

// failing says why the disk has not what is in force, and how many addresses it lacks.
func (k *keeper) failing() (int, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return len(k.dirty), k.fault
}
