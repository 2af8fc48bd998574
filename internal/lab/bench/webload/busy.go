package webload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// tick is the kernel's unit of CPU time in /proc/stat (USER_HZ).
const tick = 10 * time.Millisecond

// readBusy returns how long the CPUs of the machine have not been idle, nor with another machine, in all.
func readBusy() (time.Duration, error) {
	file, err := os.Open("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read how busy the CPUs were: %w", err)
	}
	defer file.Close()
	return parseBusy(file)
}

// parseBusy reads the first line of proc_stat(5).
func parseBusy(stat io.Reader) (time.Duration, error) {
	line, err := bufio.NewReader(stat).ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("read how busy the CPUs were: %w", err)
	}
	var user, nice, system, idle, waiting, irq, softirq int64
	line, found := bytes.CutPrefix(line, []byte("cpu "))
	if _, err := fmt.Sscan(string(line), &user, &nice, &system, &idle, &waiting, &irq, &softirq); err != nil || !found {
		return 0, errors.Join(errors.New("read how busy the CPUs were: the first line is not of all CPUs"), err)
	}
	return time.Duration(user+nice+system+irq+softirq) * tick, nil
}
