package datapath

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/mounts"
)

// pinsOf are the files that an instance has pinned, whoever runs.
func pinsOf(instance string) ([]string, error) {
	outer, _ := mounts.Outer()
	root, err := mounts.Path(outer, fileSystem)
	if err != nil {
		return nil, err
	}
	directory := instanceDirectory(root, instance)
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("list what instance %s has pinned: %w", instance, err)
	}
	var files []string
	for _, e := range entries {
		files = append(files, filepath.Join(directory, e.Name()))
	}
	return files, nil
}

// Inventory lists the tables and programs that an instance has pinned, with their sizes and tags.
func Inventory(instance string) ([]byte, error) {
	files, err := pinsOf(instance)
	var b bytes.Buffer
	for _, file := range files {
		name := filepath.Base(file)
		if m, err := ebpf.LoadPinnedMap(file, &ebpf.LoadPinOptions{ReadOnly: true}); err == nil {
			if info, err := m.Info(); err == nil {
				memory, _ := info.Memlock()
				fmt.Fprintf(&b, "table    %-28s %-20s key %d, value %d, room for %d, %d bytes\n", name, info.Type, info.KeySize, info.ValueSize, info.MaxEntries, memory)
			}
			_ = m.Close() // only looked at
		} else if p, err := ebpf.LoadPinnedProgram(file, nil); err == nil {
			if info, err := p.Info(); err == nil {
				fmt.Fprintf(&b, "program  %-28s %-20s tag %s\n", name, info.Type, info.Tag)
			}
			_ = p.Close()
		} else {
			fmt.Fprintf(&b, "pin      %s\n", name)
		}
	}
	return b.Bytes(), err
}

// PinnedCounters are how packets ended, of a data plane that is at work, whether a daemon answers or not.
func PinnedCounters(instance string) ([]byte, error) {
	files, err := pinsOf(instance)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, "/reason_counters") })
	if at < 0 {
		return nil, fmt.Errorf("instance %s has pinned no counters", instance)
	}
	counters, err := ebpf.LoadPinnedMap(files[at], &ebpf.LoadPinOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("open the counters of instance %s: %w", instance, err)
	}
	defer counters.Close()
	spec, err := xdpSpec()
	if err != nil {
		return nil, err
	}
	sums, err := sumsOf(counters)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for number, name := range enumNames(spec, "reason", "REASON_") {
		if number > 0 && number < len(sums) {
			fmt.Fprintf(&b, "%-28s %d\n", name, sums[number])
		}
	}
	return b.Bytes(), nil
}
