package pool

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

func TestPressEndsTheHoldsOfIdleReservationsEarly(t *testing.T) {
	options := defaults()
	options.Addresses = testAddresses[:1]
	p := newPool(t, options)
	first, second := service(1, model.TCP, 80), service(2, model.TCP, 80)
	res, _, err := p.Offer(0, first)
	if err != nil {
		t.Fatal(err)
	}
	p.Claimed(1000, res.ID, 0)
	quarter := res.Created.Add(250*time.Millisecond) + 1000
	p.Press(2000)
	if due := p.Due(quarter); len(due) != 0 {
		t.Fatal("a hold in use ended early")
	}
	p.Idle(res.ID)
	if due := p.Due(quarter); len(due) != 0 {
		t.Fatal("a hold ended early without pressure")
	}
	p.Press(3000)
	if due := p.Due(quarter - 1); len(due) != 0 {
		t.Fatal("the hold ended before its first quarter")
	}
	if due := p.Due(quarter); len(due) != 1 || due[0] != res.ID {
		t.Fatalf("due %v, want the idle hold", due)
	}
	if _, _, err := p.Offer(quarter, second); err == nil {
		t.Fatal("the place was lent again before its record was reported gone")
	}
	p.Expired(quarter, res.ID)
	if _, _, err := p.Offer(quarter, second); err != nil {
		t.Fatal(err)
	}
}
