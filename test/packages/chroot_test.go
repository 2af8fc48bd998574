package packages

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// chrooted runs a script in a tree that has the processes of this machine and no network, as those have it who make images.
func chrooted(t *testing.T, root, script string) string {
	t.Helper()
	const enter = `mount -t proc proc "$0/proc" && mount -t tmpfs dev "$0/dev" && mknod -m 666 "$0/dev/null" c 1 3 && mknod -m 444 "$0/dev/urandom" c 1 9 && mkdir "$0/dev/pts" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts" && ln -s pts/ptmx "$0/dev/ptmx" &&
		exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 sh -e -c "$1"`
	out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "--net", "sh", "-c", enter, root, script).CombinedOutput() //nolint:gosec // the test's own
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// In a tree where nothing runs, not even systemd is installed, and services are forbidden, as in a container: apt brings what the
// package needs, nothing starts, and the machine that boots from the tree is a gateway.
func TestInstallInAChroot(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	r := lab.NewRealm(t, netns.Options{Prefix: "chroot", Hosts: 1, Clients: 1})
	folder := t.TempDir()
	root := filepath.Join(folder, "root")
	if err := errors.Join(os.Mkdir(root, 0o755), unpack(without.archive(t), root)); err != nil { //nolint:gosec // a system's root
		t.Fatal(err)
	}
	m := machine{t: t, root: root}
	m.deb(built(t, "*_amd64.deb"), "/first.deb")
	m.put([]byte(configuration(r.Gateway)), configurationFile)
	m.put([]byte("#!/bin/sh\nexit 101\n"), policy)
	const install = "chmod 755 " + policy + "; apt-get install -q -y /first.deb; rm " + policy
	t.Log(chrooted(t, root, install+"; apt-get install -q -y systemd-sysv"))

	archive := filepath.Join(folder, "tree.tar")
	if err := pack(root, archive); err != nil {
		t.Fatal(err)
	}
	s := story{newMachine(t, r.Gateway, archive), r.Gateway, r.Clients[0]}
	serve(t, r.Hosts()[0])
	s.must("systemctl", "start", "realmgate") // which boot does: this only waits for it
	s.serves("after the first boot")

	// A chroot that sees the machine's own /sys and /run leaves the machine's gateway alone.
	kept := []string{"/sys/fs/bpf/realmgate/default/pin", "/run/realmgate/default.sock", "/run/systemd/system/unit"}
	for _, file := range kept {
		if err := errors.Join(os.MkdirAll(filepath.Dir(root+file), 0o700), os.WriteFile(root+file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	chrooted(t, root, "dpkg -i /first.deb; apt-get purge -q -y realmgate")
	for _, file := range kept {
		if _, err := os.Stat(root + file); err != nil {
			t.Error(err)
		}
	}
}
