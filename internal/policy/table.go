package policy

// TableSize bounds every table: parties remembered of one kind.
const TableSize = 65536

// table is a bounded map that forgets the entry idle longest when it is full.
type table[K comparable, V any] struct {
	index map[K]int32
	nodes []node[K, V]
	// newest and oldest end the list in the order of use; -1 ends it.
	newest, oldest int32
	spare          []int32 // nodes that were removed
	size           int
}

type node[K comparable, V any] struct {
	key          K
	value        V
	newer, older int32
}

func newTable[K comparable, V any](size int) *table[K, V] {
	return &table[K, V]{index: map[K]int32{}, newest: -1, oldest: -1, size: size}
}

// get returns the key's value without using it, nil when there is none.
func (t *table[K, V]) get(k K) *V {
	i, ok := t.index[k]
	if !ok {
		return nil
	}
	return &t.nodes[i].value
}

// use returns the key's value and makes it the newest; fresh says that it was
// made for this call. The pointer is good until the next call.
func (t *table[K, V]) use(k K) (v *V, fresh bool) {
	i, ok := t.index[k]
	switch {
	case ok:
		t.unlink(i)
	case len(t.spare) > 0:
		i = t.spare[len(t.spare)-1]
		t.spare = t.spare[:len(t.spare)-1]
	case len(t.nodes) < t.size:
		i = int32(len(t.nodes)) // bounded by size
		t.nodes = append(t.nodes, node[K, V]{})
	default:
		i = t.oldest
		t.unlink(i)
		delete(t.index, t.nodes[i].key)
	}
	n := &t.nodes[i]
	if !ok {
		*n = node[K, V]{key: k}
		t.index[k] = i
	}
	n.newer, n.older = -1, t.newest
	if t.newest >= 0 {
		t.nodes[t.newest].newer = i
	} else {
		t.oldest = i
	}
	t.newest = i
	return &n.value, !ok
}

// remove forgets the key, and reports whether it was there.
func (t *table[K, V]) remove(k K) bool {
	i, ok := t.index[k]
	if !ok {
		return false
	}
	t.unlink(i)
	delete(t.index, k)
	t.nodes[i] = node[K, V]{}
	t.spare = append(t.spare, i)
	return true
}

func (t *table[K, V]) unlink(i int32) {
	n := &t.nodes[i]
	if n.newer >= 0 {
		t.nodes[n.newer].older = n.older
	} else {
		t.newest = n.older
	}
	if n.older >= 0 {
		t.nodes[n.older].newer = n.newer
	} else {
		t.oldest = n.newer
	}
}
