package allocation

import (
	"testing"
)

// What one look at a pool of 65,536 addresses takes, 4,096 of which have a service; ten times a second while somebody watches.
func BenchmarkLook(b *testing.B) {
	w := &world{t: new(testing.T), plane: newPlane(), store: &memory{entries: map[string][]byte{}}, now: start, services: webs(4096), size: 1 << 16}
	w.begin(false)
	for b.Loop() {
		if _, err := w.poolChange(); err != nil {
			b.Fatal(err)
		}
	}
}
