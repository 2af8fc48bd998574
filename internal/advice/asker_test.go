package advice

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/policy"
)

// Who asks much is counted among any number of others, never as more than it asked, and forgotten in minutes.
func TestAskersAreBounded(t *testing.T) {
	var a askers
	at, loud := model.Instant(time.Hour), numbered(60000)
	const each = 20_000
	for n := range each {
		a.note(at, loud)
		a.note(at, numbered(n)) // once each
	}
	list := a.list(at)
	if n := list[loud]; len(list) > askersCounted || n < each/2 || n > each {
		t.Errorf("%d are counted, and who asked %d times with %d", len(list), each, n)
	}
	later := at.Add(askersStep)
	a.note(later, numbered(1))
	if list := a.list(later); list[loud] == 0 || list[numbered(1)] == 0 {
		t.Error("what was counted a moment ago is forgotten")
	}
	if list := a.list(later.Add(askersStep)); list[loud] != 0 || list[numbered(1)] != 1 {
		t.Errorf("after %v: %v", 2*askersStep, list)
	}
	if list := a.list(later.Add(time.Hour)); len(list) != 0 {
		t.Errorf("after an hour: %v", list)
	}
}

// Of many hosts inside none is named: another may have taken their addresses.
func TestForgedQuestionersAreNotNamed(t *testing.T) {
	many := map[netip.Addr]int{}
	for n := range 100 {
		many[numbered(n)] = 5
	}
	if list := insideQuestioners(many); len(list) != 1 || strings.Contains(list[0], "blackhole") {
		t.Error(list)
	}
	many[numbered(7)] = 500
	if list := insideQuestioners(many); len(list) != 1 || !strings.HasSuffix(list[0], "ip route add blackhole "+numbered(7).String()) {
		t.Error(list)
	}
	if list := insideQuestioners(nil); list != nil {
		t.Error(list)
	}
}

// refusing is an Allocator that refuses for a reason.
type refusing struct{ why error }

func (r refusing) Allocate(context.Context, nameserver.Question) (nameserver.Answer, error) {
	return nameserver.Answer{}, fmt.Errorf("%w: %w", nameserver.ErrRefused, r.why)
}

// Status names who is refused for what it asks, with what stops it; neither whose address may be forged nor who is
// refused for what others ask.
func TestQuestionersAreNamed(t *testing.T) {
	var s Service
	ask := func(n int, verified bool, why error) {
		for range refusedLeast {
			_, _ = s.Watch(refusing{why}).Allocate(t.Context(), nameserver.Question{
				Client: netip.AddrPortFrom(numbered(n), 4000), Verified: verified,
			})
		}
	}
	ask(1, true, policy.ErrShare)
	ask(2, false, policy.ErrShare)
	ask(3, true, policy.ErrTotalLimit)
	hosta := netip.MustParseAddr("10.0.0.100")
	s.Overdone(hosta)
	all := strings.Join(s.questioners(datapath.Now()), "\n")
	for _, want := range []string{"realmgate ban add " + numbered(1).String(), "ip route add blackhole " + hosta.String()} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	for n := 2; n < 4; n++ {
		if strings.Contains(all, numbered(n).String()) {
			t.Errorf("%s is named in\n%s", numbered(n), all)
		}
	}
}
