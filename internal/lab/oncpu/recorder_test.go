package oncpu

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Processes that want more CPUs than there are get in each other's way: each switch that the kernel
// counted of them is seen, and all times together are as long as they had a CPU.
func TestRecorderSeesEverySwitch(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("only root may watch the scheduler")
	}
	const busy = `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.01; sleep 0.01`
	before := time.Now()
	r, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for range 2 * runtime.NumCPU() {
		c := exec.CommandContext(t.Context(), "sh", "-c", busy)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	var used time.Duration
	voluntary, involuntary := -int64(runtime.NumCPU()), -int64(runtime.NumCPU()) // a CPU's first is not counted
	for _, c := range all {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		usage := c.ProcessState.SysUsage().(*syscall.Rusage)
		voluntary, involuntary = voluntary+usage.Nvcsw, involuntary+usage.Nivcsw
		used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	s, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	watched := time.Since(before)
	if got := int64(s.Voluntary.Total()); voluntary <= 0 || got < voluntary {
		t.Errorf("%d voluntary switches of %d", got, voluntary)
	}
	if got := int64(s.Involuntary.Total()); involuntary <= 0 || got < involuntary {
		t.Errorf("%d involuntary switches of %d", got, involuntary)
	}
	var least, most time.Duration
	for i, n := range s.Tasks() {
		least, most = least+time.Duration(n)*LowerBound(i), most+time.Duration(n)*LowerBound(i+1)
	}
	for i, n := range s.Idle {
		least += time.Duration(n) * LowerBound(i)
	}
	if all := watched * time.Duration(runtime.NumCPU()); least > all || most < used || used == 0 {
		t.Errorf("tasks had a CPU for %s at most, those of the test alone for %s; all times are %s at least, in %s", most, used, least, all)
	}
	if s.Seconds <= 0 || s.Seconds > watched.Seconds() {
		t.Errorf("it watched %g s of %s", s.Seconds, watched)
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	s := Switches{Voluntary: Histogram{1, 4, 2}, Involuntary: Histogram{2: 5}, Idle: Histogram{7: 100}}
	tasks := s.Tasks()
	if tasks != (Histogram{1, 4, 7}) || tasks.Total() != 12 || tasks.Mode() != 2 || s.Idle.Mode() != 7 {
		t.Errorf("tasks are %v: %d, most of them in %d", tasks, tasks.Total(), tasks.Mode())
	}
	if LowerBound(0) != 0 || LowerBound(1) != 2*time.Microsecond || LowerBound(11) != 2048*time.Microsecond {
		t.Errorf("buckets begin at %s, %s, and the eleventh at %s", LowerBound(0), LowerBound(1), LowerBound(11))
	}
}
