package api

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const commit = "ce371b17e454a2130453523d8c42e5f57b3bf708"
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for _, c := range []struct {
		want, version, linked string
		settings              []debug.BuildSetting
	}{
		{"v1.2.3", "v1.2.3", "abc", []debug.BuildSetting{setting("vcs.revision", commit)}},
		{"ce371b17e454", "(devel)", "abc", []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "false")}},
		{"ce371b17e454-dirty", "(devel)", "", []debug.BuildSetting{setting("vcs.revision", commit), setting("vcs.modified", "true")}},
		{"ce3", "", "", []debug.BuildSetting{setting("vcs.revision", "ce3")}},
		{"abc-dirty", "(devel)", "abc-dirty", nil},
		{"devel", "(devel)", "", nil},
		{"devel", "", "", nil},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}
		if got := versionOf(info, c.linked); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
