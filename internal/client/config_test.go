package client

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

func (g fakeGateway) Config(number int) (Config, error) {
	return Config{Generation: uint32(number), Effective: "a: 1\n"}, g.err
}

func (g fakeGateway) Confirm(api.Request) (Confirmed, error) { return Confirmed{Generation: 7}, g.err }

func (g fakeGateway) ConfigHistory() ([]HistoryEntry, error) {
	return []HistoryEntry{{Number: 3}, {Number: 4, How: api.HowReload}}, g.err
}

func (g fakeGateway) Rollback(r api.RollbackRequest) (RolledBack, error) {
	return RolledBack{Generation: 9, Hosts: r.Number, Kept: []string{"a"}}, g.err
}

func (g fakeGateway) ConfigDiff() (ConfigDiff, error) {
	return ConfigDiff{Differences: []Difference{{Key: "a", Is: "1"}}}, g.err
}

func TestConfigEditor(t *testing.T) {
	t.Parallel()
	e := serve(t, fakeGateway{}).ConfigEditor()
	for _, number := range []int{0, 3} {
		if c, err := e.Show(t.Context(), number); err != nil || c.Effective != "a: 1\n" || int(c.Generation) != number {
			t.Errorf("in force is %+v, %v", c, err)
		}
	}
	if done, err := e.TryReload(t.Context(), 2*time.Minute); err != nil || done.Confirm != 120 {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := e.Confirm(t.Context()); err != nil || done.Generation != 7 {
		t.Errorf("%+v, %v", done, err)
	}
	if list, err := e.History(t.Context()); err != nil || len(list) != 2 || list[1].How != api.HowReload {
		t.Errorf("%+v, %v", list, err)
	}
	if done, err := e.Rollback(t.Context(), 3); err != nil || done.Hosts != 3 || len(done.Kept) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if d, err := e.Diff(t.Context()); err != nil || len(d.Differences) != 1 || d.Differences[0].Key != "a" {
		t.Errorf("other is %+v, %v", d, err)
	}
}
