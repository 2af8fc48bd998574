package demo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/mounts"
)

// runDirectory is where a gateway keeps its lock and its socket; a demo keeps its
// own files in a folder of its name beside them.
const runDirectory = "/run/realmgate"

// stateDirectory is where a gateway keeps its bans.
const stateDirectory = "/var/lib/realmgate"

// pinDirectory is where a gateway pins its data plane, from the root of a tree.
const pinDirectory = "sys/fs/bpf/realmgate"

// files are where demos and their gateways leave something in file systems.
type files struct {
	tree *os.Root // in which gateways pin
	ours bool     // it is what we see, too
}

// openFiles finds the tree as a gateway does: it is what the eldest of our
// forebears sees. Inside of ip netns exec we see another /sys, and nobody else
// sees the networks that we make.
func openFiles() (*files, error) {
	path, _ := mounts.Outer()
	ours := path == ""
	if !ours {
		path = filepath.Join(path, "root")
	}
	tree, err := os.OpenRoot(filepath.Join("/", path))
	if err != nil {
		return nil, err
	}
	return &files{tree, ours}, nil
}

func (f *files) close() { _ = f.tree.Close() } // only read

// pins returns the folder in which an instance has pinned something, or nothing.
func (f *files) pins(instance string) string {
	path := filepath.Join(pinDirectory, instance)
	if _, err := f.tree.Stat(path); err != nil {
		return ""
	}
	return "/" + path
}

// remove removes everything of a demo's instances. Their programs in the kernel go
// with their pins.
func (f *files) remove(id string) (failed error) {
	for _, instance := range []string{id, id + secondInstance} {
		failed = errors.Join(failed, f.tree.RemoveAll(filepath.Join(pinDirectory, instance)))
		for _, name := range []string{"", ".sock", ".lock"} {
			failed = errors.Join(failed, os.RemoveAll(filepath.Join(runDirectory, instance+name)))
		}
		failed = errors.Join(failed, os.RemoveAll(filepath.Join(stateDirectory, instance+".db")))
	}
	return failed
}

// sweep removes the files of demos that were killed; their labs are swept
// already. A demo that runs, or was kept, has its gateway's network.
func (f *files) sweep() {
	names, _ := filepath.Glob(runDirectory + "/demo-*") // the patterns are good ones
	kept, _ := filepath.Glob(stateDirectory + "/demo-*")
	pinned, _ := fs.Glob(f.tree.FS(), pinDirectory+"/demo-*")
	for _, name := range slices.Concat(names, kept, pinned) {
		id, _, _ := strings.Cut(filepath.Base(name), ".")
		id = strings.TrimSuffix(id, secondInstance)
		if !validID.MatchString(id) {
			continue
		}
		network := "run/netns/rg-" + id + "-gateway"
		_, here := os.Stat("/" + network)
		_, there := f.tree.Stat(network)
		if errors.Is(here, os.ErrNotExist) && errors.Is(there, os.ErrNotExist) {
			_ = f.remove(id) // what stays is tried again by the next demo
		}
	}
}
