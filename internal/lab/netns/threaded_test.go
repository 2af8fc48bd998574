package netns

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestThreadNAPI(t *testing.T) {
	a, b := newPair(t, Queues(2))
	cpu := runtime.NumCPU() - 1
	for range 2 { // also when it is so already
		if err := a.ThreadNAPI("eth0", cpu, 1); err != nil {
			t.Fatal(err)
		}
	}
	pids, err := a.napiThreads("eth0")
	if err != nil || len(pids) != 2 {
		t.Fatalf("threads %v of two queues: %v", pids, err)
	}
	for _, pid := range pids {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &set); err != nil || set.Count() != 1 || !set.IsSet(cpu) {
			t.Errorf("thread %d runs on %d CPUs: %v", pid, set.Count(), err)
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil || !strings.HasPrefix(string(name), "napi/eth0") {
			t.Errorf("thread %d is called %q: %v", pid, name, err)
		}
	}
	if err := exchange(a, b, "192.0.2.2"); err != nil {
		t.Error(err)
	}
	// The peer, whose interface has the same name, is left alone.
	other, err := b.napiThreads("eth0")
	if err != nil || slices.ContainsFunc(other, func(pid int) bool { return pid > 0 }) {
		t.Errorf("the peer's threads: %v, %v", other, err)
	}
}

func TestThreadNAPISaysWhatIsWrong(t *testing.T) {
	a, _ := newPair(t, GRO(BothEnds, false))
	for _, c := range []struct {
		ifname, want string
		cpu          int
	}{
		{"eth0", "not supported", 0},
		{"eth7", "no such file", 0},
		{"eth0", "this machine has", runtime.NumCPU()},
		{"eth0", "this machine has", AnyCPU - 1},
	} {
		if err := a.ThreadNAPI(c.ifname, c.cpu, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on CPU %d: %v, want %q in it", c.ifname, c.cpu, err, c.want)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Count(string(mounts), " /sys ") > 1 {
		t.Errorf("sysfs is mounted over /sys for everybody: %v\n%s", err, mounts)
	}
}
