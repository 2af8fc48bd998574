package api

import "runtime/debug"

// revision is the commit that `make build` names to the linker: Go itself finds
// none in a linked worktree, nor where it may not ask Git.
var revision string

// Version returns which build this is, for Status and for people: the module's
// version, which Go derives from tag and commit, else the commit with "-dirty"
// where files were changed, else "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info, revision)
}

func versionOf(info *debug.BuildInfo, linked string) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	switch {
	case commit != "":
		return commit + dirty
	case linked != "":
		return linked
	}
	return "devel"
}
