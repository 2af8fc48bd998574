package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Sweep removes the labs whose owners died without Close: the processes that
// still run in their namespaces, the namespaces, the records. Labs that are in
// use, or were made with Keep, stay. It goes on after an error and returns all.
func Sweep() error {
	ids, err := recorded()
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		failed = errors.Join(failed, sweep(id, false))
	}
	return failed
}

// Remove removes the lab called id (Lab.ID), whose owner has ended. It is the
// way to get rid of a lab made with Keep. A lab in use is left alone, with an
// error.
func Remove(id string) error { return sweep(id, true) }

// Kept returns the ids of the labs made with Keep whose owners have ended.
func Kept() ([]string, error) {
	ids, err := recorded()
	if err != nil {
		return nil, err
	}
	var kept []string
	for _, id := range ids {
		r, err := lockRecord(filepath.Join(recordDirectory, id), 0)
		if errors.Is(err, errLocked) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		is, err := r.kept()
		if err = errors.Join(err, r.release()); err != nil {
			return nil, err
		}
		if is {
			kept = append(kept, id)
		}
	}
	return kept, nil
}

func recorded() ([]string, error) {
	entries, err := os.ReadDir(recordDirectory)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list labs: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), namePrefix) {
			ids = append(ids, entry.Name())
		}
	}
	return ids, nil
}

func sweep(id string, keptToo bool) error {
	r, err := lockRecord(filepath.Join(recordDirectory, id), 0)
	switch {
	case errors.Is(err, errLocked) && keptToo:
		return fmt.Errorf("remove lab %s: its owner still runs: end that process first", id)
	case errors.Is(err, errLocked):
		return nil
	case errors.Is(err, os.ErrNotExist) && keptToo:
		return fmt.Errorf("remove lab %s: %w", id, err)
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("remove lab %s: %w", id, err)
	}
	kept, err := r.kept()
	if err != nil || kept && !keptToo {
		return errors.Join(err, r.release())
	}
	if err := removeNamespaces(id); err != nil {
		// The record stays, so that the next sweep tries again.
		return errors.Join(fmt.Errorf("remove lab %s: %w", id, err), r.release())
	}
	return r.remove()
}

// removeNamespaces removes all namespaces of the lab called id, after the
// processes in them.
func removeNamespaces(id string) error {
	paths, err := filepath.Glob(filepath.Join(namespaceDirectory, id+"-*"))
	if err != nil {
		return err
	}
	var inodes []inode
	for _, path := range paths {
		// Where the namespace was made in another mount namespace this is an
		// empty file, which no process has for a namespace.
		if node, err := inodeOf(path); err == nil {
			inodes = append(inodes, node)
		}
	}
	failed := killInside(inodes)
	for _, path := range paths {
		failed = errors.Join(failed, removeName(path))
	}
	return failed
}

// removeName unmounts and removes a namespace's file. The kernel destroys the
// namespace, with its links, when nothing else holds it.
func removeName(path string) error {
	for {
		err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // no mount left
			break
		}
		if err != nil {
			return fmt.Errorf("unmount %s: %w", path, err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove namespace: %w", err)
	}
	return nil
}
