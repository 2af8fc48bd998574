package allocation

import (
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// Who hears what is lent may take long, and keeps nobody from the pool meanwhile.
func TestPoolGoesOnWhileLoansAreRead(t *testing.T) {
	t.Parallel()
	service := web(1)
	w := newWorld(t, 2, named{service})
	w.mustAsk(client, service)
	w.claim()
	heard := 0
	w.Lent(func(l model.Loan) {
		heard++
		if !w.mutex.TryLock() {
			t.Fatal("the pool waits")
		}
		w.mutex.Unlock()
	})
	if heard != len(service.Ports) {
		t.Errorf("of %d ports that are lent %d are heard of", len(service.Ports), heard)
	}
}
