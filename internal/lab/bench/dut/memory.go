package dut

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// Memory is that of the connections, as the kernel's allocator counts it, and of
// the buckets. Translation to given addresses adds no extension to a connection.
func (n *netfilter) Memory(context.Context) (int64, error) {
	// What the connections before had and the allocator kept is given back first,
	// where the kernel offers that.
	_ = os.WriteFile("/sys/kernel/slab/nf_conntrack/shrink", []byte("1"), 0)
	connections, err := slabBytes("nf_conntrack")
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(hashSizePath)
	if err != nil {
		return 0, fmt.Errorf("read the number of buckets: %w", err)
	}
	buckets, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return connections + 8*buckets, err
}

// netfilterBytes is what the model expects of a table that is sized for the
// sessions.
func netfilterBytes(sessions int) int64 {
	return method.NetfilterBytes(sessions, method.Buckets(sessions))
}

// slabBytes reads how much memory the objects of a cache take from /proc/slabinfo.
func slabBytes(cache string) (int64, error) {
	file, err := os.Open("/proc/slabinfo")
	if err != nil {
		return 0, fmt.Errorf("read the kernel's memory: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var name string
		var active, objects, size, perSlab, pages int64
		n, _ := fmt.Sscan(lines.Text(), &name, &active, &objects, &size, &perSlab, &pages)
		if n == 6 && name == cache && perSlab > 0 {
			return objects / perSlab * pages * int64(os.Getpagesize()), nil
		}
	}
	return 0, fmt.Errorf("the kernel's list of caches has no %s", cache)
}
