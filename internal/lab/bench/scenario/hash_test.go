package scenario

import "testing"

// The table is as full as the report says, to what the kernel can be told.
func TestHashSizes(t *testing.T) {
	t.Parallel()
	sizes := hashSizes(1_000_000, []float64{0.6, 1, 4, 16, 19})
	for i, want := range []float64{0.6, 1, 4, 16, 19} {
		if load := loadFactor(1_000_000, sizes[i]); load != want || sizes[i]%bucketStep != 0 {
			t.Errorf("%d buckets: load %g, want %g", sizes[i], load, want)
		}
	}
	if sizes := hashSizes(100, []float64{1, 16, 19}); len(sizes) != 1 || sizes[0] != bucketStep {
		t.Errorf("100 sessions are in tables of %d buckets", sizes)
	}
}
