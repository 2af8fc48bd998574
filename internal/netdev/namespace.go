package netdev

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Namespace is the number of the network namespace that the calling thread is in.
func Namespace() (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &stat); err != nil {
		return 0, fmt.Errorf("look at our network namespace: %w", err)
	}
	return stat.Ino, nil
}
