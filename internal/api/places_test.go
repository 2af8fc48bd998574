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
	p := Places{Most: 128, Kept: 8}
	token := func(i int) Caller { return Caller{Role: Read, Kind: "token", Name: fmt.Sprint(i)} }
	fill := func(c Caller) (n int) {
		t.Helper()
		for {
			err := p.Enter(c)
			if err == nil {
				n++
				continue
			}
			if StatusOf(err) != http.StatusServiceUnavailable || n > 0 && !strings.HasPrefix(err.Error(), c.String()+" has ") {
				t.Errorf("%s is refused: %v", c, err)
			}
			return n
		}
	}
	for range 2 {
		for i, want := range []int{64, 32, 16, 8, 4, 2, 1, 1, 0} {
			if got := fill(token(i)); got != want {
				t.Errorf("token %d gets %d places, want %d", i, got, want)
			}
		}
		for i, role := range []Role{Operate, Admin} { // there is room for who has to look
			if got, want := fill(Caller{role, "user", role.String(), nil}), 4>>i; got != want {
				t.Errorf("%s gets %d places beside 128 taken, want %d", role, got, want)
			}
		}
		for i, n := range []int{64, 32, 16, 8, 4, 2, 1, 1} {
			for range n {
				p.Leave(token(i))
			}
		}
		for i, role := range []Role{Operate, Admin} {
			for range 4 >> i {
				p.Leave(Caller{Role: role, Kind: "user", Name: role.String()})
			}
		}
		if len(p.of) != 0 || p.taken != 0 {
			t.Errorf("when all have left, %d are taken: %v", p.taken, p.of)
		}
	}
	for i := range 5 { // five tokens, of ten screens each
		for range 10 {
			if err := p.Enter(token(i)); err != nil {
				t.Error(err)
			}
		}
	}
}
