package client

import "testing"

func (g fakeGateway) Config() (Config, error) { return Config{Effective: "a: 1\n"}, g.err }

func (g fakeGateway) ConfigDiff() (ConfigDiff, error) {
	return ConfigDiff{Differences: []Difference{{Key: "a", Is: "1"}}}, g.err
}

func TestConfigEditor(t *testing.T) {
	t.Parallel()
	e := serve(t, fakeGateway{}).ConfigEditor()
	if c, err := e.Show(t.Context()); err != nil || c.Effective != "a: 1\n" {
		t.Errorf("in force is %+v, %v", c, err)
	}
	if d, err := e.Diff(t.Context()); err != nil || len(d.Differences) != 1 || d.Differences[0].Key != "a" {
		t.Errorf("other is %+v, %v", d, err)
	}
}
