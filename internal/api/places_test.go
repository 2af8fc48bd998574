package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// One caller may have half of the places, as what shares a token does, and each that comes behind it half of what is left. Who
// leaves makes room.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := Places{Most: 128}
	fill := func(caller string) (n int) {
		t.Helper()
		for {
			err := p.Enter(caller)
			if err == nil {
				n++
				continue
			}
			if StatusOf(err) != http.StatusServiceUnavailable || n > 0 && !strings.HasPrefix(err.Error(), caller+" has ") {
				t.Errorf("%s is refused: %v", caller, err)
			}
			return n
		}
	}
	for range 2 {
		for i, want := range []int{64, 32, 16, 8, 4, 2, 1, 1, 0} {
			if got := fill(fmt.Sprint("token ", i)); got != want {
				t.Errorf("token %d gets %d places, want %d", i, got, want)
			}
		}
		for i, n := range []int{64, 32, 16, 8, 4, 2, 1, 1} {
			for range n {
				p.Leave(fmt.Sprint("token ", i))
			}
		}
		if len(p.of) != 0 || p.taken != 0 {
			t.Errorf("when all have left, %d are taken: %v", p.taken, p.of)
		}
	}
	for i := range 5 { // five tokens, of ten screens each
		for range 10 {
			if err := p.Enter(fmt.Sprint("token ", i)); err != nil {
				t.Error(err)
			}
		}
	}
}
