package allocation

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// Each service tells how many questions it had, what they came to, and who asked last; those that
// are no more are forgotten.
func TestNamesTellWhoAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, webs(2))
	w.wall = time.Unix(1_700_000_000, 0)
	address := w.mustAsk(client, web(1))
	w.wall = w.wall.Add(time.Second)
	w.mustAsk(stranger(1), web(1))
	if _, err := w.ask(stranger(2), web(2)); err == nil {
		t.Fatal("one address for two services")
	}
	want := []api.Name{
		{Service: "www.host1.foo.example.", Host: "host1.foo.example.", Address: address, Ports: web(1).Ports, Asked: 2, Lent: 2, Asker: stranger(1), Last: w.wall},
		{Service: "www.host2.foo.example.", Host: "host2.foo.example.", Ports: web(2).Ports, Asked: 1, Refused: 1, Asker: stranger(2), Last: w.wall},
	}
	got := w.Names(api.Filter{})
	if len(got) != 2 || got[1].Why == "" {
		t.Fatalf("%+v", got)
	}
	got[1].Why = ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := w.Names(api.Filter{Host: "host2.foo.example."}); len(got) != 1 || got[0].Service != want[1].Service {
		t.Errorf("by host: %+v", got)
	}
	if got := w.Names(api.Filter{Address: netip.MustParseAddr("192.0.2.1")}); len(got) != 0 {
		t.Errorf("by another's address: %+v", got)
	}
	if got := w.Names(api.Filter{Port: 25}); len(got) != 0 {
		t.Errorf("by a port that none opens: %+v", got)
	}
	w.services = webs(1)
	if err := w.Configure(w.config()); err != nil {
		t.Fatal(err)
	}
	if got := w.Names(api.Filter{}); len(got) != 1 || len(w.tally) != 1 {
		t.Errorf("after a reload: %+v, %d kept", got, len(w.tally))
	}
}
