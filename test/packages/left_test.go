package packages

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// left is what can be left on a machine, each with what it is.
type left map[string]string

// notOurs is what differs whoever is installed: records of dpkg and apt, the journal, what is of processes, and the user, which stays.
var notOurs = []string{
	"/sys/", "/run/", "/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/", "/var/log/", "/var/lib/systemd/", "/etc/ld.so.cache",
	"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/.pwd.lock", "/etc/subuid", "/etc/subgid",
}

// What is of the gateway among these.
var ours = []string{"/run/realmgate", "/var/log/realmgate", "/sys/fs/bpf", "/var/lib/systemd/deb-systemd-helper"}

// snapshot is the machine's files, the settings of its interfaces, its links, queueing disciplines and routes.
func (s *story) snapshot() left {
	s.t.Helper()
	found := left{}
	has := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(begin string) bool { return strings.HasPrefix(path, begin) })
	}
	tops := []string{"/sys/fs/bpf"}
	folders, err := os.ReadDir(s.root)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range folders {
		if !slices.Contains([]string{"proc", "sys", "dev", "tmp"}, f.Name()) {
			tops = append(tops, "/"+f.Name())
		}
	}
	for _, top := range tops {
		_ = filepath.WalkDir(s.root+top, func(path string, d fs.DirEntry, err error) error {
			path = strings.TrimPrefix(path, s.root)
			if err != nil || has(notOurs, path) && !has(ours, path) {
				return nil //nolint:nilerr // it went meanwhile
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // the same
			}
			what := info.Mode().String()
			if info.Mode().IsRegular() {
				what += fmt.Sprintf(" %d octets", info.Size())
			}
			found[path] = what
			return nil
		})
	}
	settings, _ := s.run("grep", "-rs", "", "/proc/sys/net") // some can only be written
	for line := range strings.Lines(settings) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		found[key] += value
	}
	for _, command := range []string{"ip -o link", "tc qdisc", "ip route show table all", "ip rule"} {
		words := strings.Fields(command)
		out, err := s.network.Command(s.t.Context(), words[0], words[1:]...).Output()
		if err != nil {
			s.t.Fatalf("%s: %v", command, err)
		}
		found[command] = string(out)
	}
	return found
}

// compare says what came, went or changed.
func (l left) compare(t *testing.T, after left) {
	t.Helper()
	if len(l) < 1000 {
		t.Errorf("only %d things were looked at", len(l))
	}
	all := maps.Clone(l)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if l[key] != after[key] {
			t.Errorf("%s: was %q, is %q", key, l[key], after[key])
		}
	}
}
