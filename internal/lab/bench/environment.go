package bench

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/client"
)

// Environment is where a report was made.
type Environment struct {
	Tool        string            `json:"tool"`
	Kernel      string            `json:"kernel"`
	CPU         string            `json:"cpu"`
	CPUs        int               `json:"cpus"`
	Virtual     bool              `json:"virtual"`
	MemoryBytes uint64            `json:"memory_bytes"`
	Mitigations map[string]string `json:"mitigations"`
	Settings    map[string]string `json:"settings"` // of the machine, before any device changed them
}

// settings that bear on the figures.
var settings = []string{
	"/proc/sys/net/netfilter/nf_conntrack_max",
	"/sys/module/nf_conntrack/parameters/hashsize",
	"/proc/sys/net/core/netdev_budget",
	"/proc/sys/net/core/bpf_jit_enable",
	"/proc/sys/net/core/netdev_max_backlog",
	"/proc/sys/net/core/default_qdisc",
	realTimePart,
}

// bootWords begin the kernel's boot parameters that bear on the figures. The others
// are nobody's business: reports are published.
var bootWords = []string{
	"mitigations=", "spectre", "nosmt", "isolcpus=", "nohz", "rcu_nocbs=", "idle=", "intel_idle", "processor.max_cstate=",
	"cpuidle", "intel_pstate=", "amd_pstate=", "transparent_hugepage=", "hugepages", "threadirqs", "preempt=", "audit=",
}

// Tuning is the settings of the machine while the devices of a comparison were up.
type Tuning struct {
	Parameters map[string]float64 `json:"parameters,omitempty"` // of a sweep
	Settings   map[string]string  `json:"settings"`
}

// readTuning notes the settings in force.
func (b *Bench) readTuning(parameters map[string]float64) error {
	e, err := ReadEnvironment()
	if err != nil {
		return err
	}
	b.Report.Tuning = append(b.Report.Tuning, Tuning{Parameters: maps.Clone(parameters), Settings: e.Settings})
	return nil
}

// ReadEnvironment describes this machine.
func ReadEnvironment() (Environment, error) {
	e := Environment{
		Tool: client.Version(), CPUs: runtime.NumCPU(),
		Mitigations: map[string]string{}, Settings: map[string]string{},
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return e, fmt.Errorf("read the kernel's version: %w", err)
	}
	e.Kernel = unix.ByteSliceToString(name.Release[:])
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return e, fmt.Errorf("read the size of memory: %w", err)
	}
	e.MemoryBytes = info.Totalram * uint64(info.Unit)
	if err := e.readCPU(); err != nil {
		return e, err
	}
	files, _ := filepath.Glob("/sys/devices/system/cpu/vulnerabilities/*") // the pattern is right
	for _, file := range files {
		if value, err := readSetting(file); err == nil && value != "Not affected" {
			e.Mitigations[filepath.Base(file)] = value
		}
	}
	for _, file := range settings {
		if value, err := readSetting(file); err == nil {
			e.Settings[file] = value
		}
	}
	if line, err := readSetting("/proc/cmdline"); err == nil {
		e.Settings["boot parameters"] = bootParameters(line)
	}
	return e, nil
}

func bootParameters(line string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(line), func(word string) bool {
		return !slices.ContainsFunc(bootWords, func(begin string) bool { return strings.HasPrefix(word, begin) })
	}), " ")
}

func (e *Environment) readCPU() error {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return fmt.Errorf("read the CPU's name: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(key) {
		case "model name":
			e.CPU = strings.TrimSpace(value)
		case "flags":
			e.Virtual = strings.Contains(value+" ", " hypervisor ")
		}
	}
	return nil
}

// Compliance says why the figures are not RFC compliant.
func (e Environment) Compliance(o Options) string {
	reasons := []string{"tester and device share one machine and its memory", "the links are virtual (veth)"}
	if o.External != (External{}) {
		reasons = []string{"the tester's frames take their times in software, in this machine's kernel", "nobody empties the box's table between trials"}
		if o.External.Reset != "" {
			reasons = reasons[:1]
		}
	}
	if e.Virtual {
		reasons = append(reasons, "it is a virtual machine, whose CPUs others use too")
	}
	if o.Mode == SelfClocked {
		reasons = append(reasons, "tester and device take turns on one CPU, so that a rate is the inverse of a cost and not a zero-loss throughput")
	}
	return "not RFC compliant: " + strings.Join(reasons, "; ")
}
