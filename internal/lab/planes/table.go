package planes

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// table is one of a plane, with what it has in a new one.
type table struct {
	*ebpf.Map
	memory  []byte // of one that can be mapped
	initial []byte // of that
	entries []entry
}

type entry struct{ key, value any }

func newTable(m *ebpf.Map) (*table, error) {
	t := &table{Map: m}
	switch {
	case m.Flags()&unix.BPF_F_MMAPABLE != 0:
		page := os.Getpagesize()
		size := (int(m.ValueSize()+7)&^7*int(m.MaxEntries()) + page - 1) / page * page
		var err error
		if t.memory, err = unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
			return nil, err
		}
		t.initial = slices.Clone(t.memory)
		return t, nil
	case m.Type() == ebpf.RingBuf || m.Type() == ebpf.ProgramArray:
		return t, nil
	case m.Type() == ebpf.PerCPUArray:
		for key := range m.MaxEntries() {
			var values [][]byte
			if err := m.Lookup(key, &values); err != nil {
				return nil, err
			}
			t.entries = append(t.entries, entry{key, values})
		}
		return t, nil
	}
	var key, value []byte
	for i := m.Iterate(); i.Next(&key, &value); {
		t.entries = append(t.entries, entry{slices.Clone(key), slices.Clone(value)})
	}
	return t, nil
}

func (t *table) renew() error {
	switch t.Type() {
	case ebpf.RingBuf:
		return t.drain()
	case ebpf.ProgramArray:
		for key := range t.MaxEntries() {
			if err := t.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return err
			}
		}
		return nil
	case ebpf.Hash, ebpf.LPMTrie:
		var keys [][]byte
		var key, value []byte
		for i := t.Iterate(); i.Next(&key, &value); {
			keys = append(keys, slices.Clone(key))
		}
		for _, key := range keys {
			if err := t.Delete(key); err != nil {
				return err
			}
		}
	}
	copy(t.memory, t.initial)
	for _, e := range t.entries {
		if err := t.Put(e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) drain() error {
	reader, err := ringbuf.NewReader(t.Map)
	if err != nil {
		return err
	}
	defer reader.Close()
	reader.SetDeadline(time.Unix(1, 0)) // never wait
	for {
		if _, err := reader.Read(); errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (t *table) close() error {
	var err error
	if t.memory != nil {
		err = unix.Munmap(t.memory)
	}
	return errors.Join(err, t.Close())
}
