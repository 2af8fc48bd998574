package api

import "runtime/debug"

// Version returns which build this is, for Status and for people: the module's
// version, which Go derives from the tag and the commit, or "devel" when it was
// built without them.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
