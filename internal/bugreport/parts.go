package bugreport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Source is whose report it is.
type Source struct {
	Instance, Socket string
	PID              int      // of the daemon, 0 where none runs
	Interfaces       []string // of the configuration
}

const (
	// apart is the time between two looks at what counts.
	apart = 5 * time.Second
	// answer is how long the daemon has for an answer.
	answer   = 2 * time.Second
	logLines = "1000"
)

// Parts are those that are asked of the daemon, the kernel and the machine.
func (s Source) Parts() []Part {
	parts := []Part{
		{"status.json", "how the gateway is", s.ask("/v1/status")},
		{"metrics-1.txt", "what it measures", s.ask("/metrics")},
		{"metrics-2.txt", fmt.Sprintf("the same, %v later", apart), later(s.ask("/metrics"))},
		{"goroutines.txt", "what the daemon does", s.ask("/v1/goroutines")},
		{"threads.txt", "what the kernel says of the daemon, also of one that hangs", s.threads},
		{"log.txt", "the last " + logLines + " lines of the daemon's log", run("journalctl", "--no-pager", "-q", "-o", "short-iso", "-n", logLines, "_COMM=realmgate")},
		{"tables.txt", "the tables and programs that are pinned, with their sizes and tags", func(context.Context) ([]byte, error) { return datapath.Inventory(s.Instance) }},
		{"counters-1.txt", "how packets ended", func(context.Context) ([]byte, error) { return datapath.PinnedCounters(s.Instance) }},
		{"counters-2.txt", fmt.Sprintf("the same, %v later", apart), later(func(context.Context) ([]byte, error) { return datapath.PinnedCounters(s.Instance) })},
		{"links.txt", "interfaces, with what they counted", run("ip", "-s", "-s", "-d", "link")},
		{"addresses.txt", "addresses", run("ip", "address")},
		{"routes.txt", "routes of all tables", run("ip", "route", "show", "table", "all")},
		{"rules.txt", "which table is for whom", run("ip", "rule")},
		{"neighbours.txt", "neighbours", run("ip", "-s", "neighbour")},
		{"qdiscs.txt", "qdiscs, with what they counted", run("tc", "-s", "qdisc")},
		{"nftables.txt", "rules of nftables", run("nft", "list", "ruleset")},
		{"sockets.txt", "who listens", run("ss", "-lntup")},
		{"sysctl.txt", "settings of the kernel for packets", sysctls},
		{"machine.txt", "kernel, memory, load and disks", machine},
	}
	for _, i := range s.Interfaces {
		parts = append(parts, Part{"ethtool-" + filepath.Base(i) + ".txt", "driver and offloads of " + i, ethtool(i)})
	}
	return parts
}

// run is what a program prints.
func run(name string, arguments ...string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		var stderr bytes.Buffer
		command := exec.CommandContext(ctx, name, arguments...) //nolint:gosec // a program of the list above, by interface
		command.Stderr, command.WaitDelay = &stderr, time.Second
		out, err := command.Output()
		if err != nil {
			err = fmt.Errorf("%s: %w %s", name, err, strings.TrimSpace(stderr.String()))
		}
		return out, err
	}
}

// later makes a part a while after the others.
func later(of func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(apart):
			return of(ctx)
		}
	}
}

// ask asks the daemon for what it says at a path.
func (s Source) ask(path string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		ctx, stop := context.WithTimeout(ctx, answer)
		defer stop()
		var dialer net.Dialer
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", s.Socket)
		}}}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://realmgate"+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := c.Do(request)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("the daemon did not answer within %v", answer)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
			return nil, errors.New("no daemon listens at " + s.Socket)
		}
		if err != nil {
			return nil, fmt.Errorf("ask the daemon: %w", err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, 8*mostPart))
		if response.StatusCode != http.StatusOK {
			err = fmt.Errorf("the daemon says %s", response.Status)
		}
		return text, err
	}
}

// threads are where those of the daemon stand, as the kernel sees it.
func (s Source) threads(context.Context) ([]byte, error) {
	if s.PID == 0 {
		return nil, errors.New("no daemon runs")
	}
	var b bytes.Buffer
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", s.PID))
	for _, file := range []string{"status", "limits", "sched"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.PID, file)) // what there is
		fmt.Fprintf(&b, "## %s\n%s\n", file, text)
	}
	for _, task := range tasks {
		fmt.Fprintf(&b, "## thread %s\n", filepath.Base(task))
		for _, file := range []string{"comm", "wchan", "syscall", "stack"} {
			text, _ := os.ReadFile(filepath.Join(task, file))
			fmt.Fprintf(&b, "%s: %s\n", file, bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), err
}

func sysctls(context.Context) ([]byte, error) {
	var b bytes.Buffer
	files, err := filepath.Glob("/proc/sys/net/ipv4/conf/*/*")
	more, err2 := filepath.Glob("/proc/sys/net/core/*")
	files = append(files, more...)
	files = append(files, "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/ip_local_port_range", "/proc/sys/kernel/unprivileged_bpf_disabled", "/proc/sys/net/ipv4/fib_multipath_use_neigh")
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "netdev_rss_key" }) // a secret
	slices.Sort(files)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // some cannot be read
			fmt.Fprintf(&b, "%s = %s\n", strings.ReplaceAll(strings.TrimPrefix(file, "/proc/sys/"), "/", "."), bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), errors.Join(err, err2)
}

func machine(ctx context.Context) ([]byte, error) {
	var b bytes.Buffer
	for _, file := range []string{"/etc/os-release", "/proc/version", "/proc/meminfo", "/proc/loadavg", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/softirqs", "/proc/net/softnet_stat"} {
		text, _ := os.ReadFile(file) // not every kernel has all
		fmt.Fprintf(&b, "## %s\n%s\n", file, text)
	}
	disks, err := run("df", "-h", "/var/lib", "/run", "/tmp")(ctx)
	fmt.Fprintf(&b, "## df\n%s\n", disks)
	return b.Bytes(), err
}

func ethtool(name string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		var all []byte
		var errs []error
		for _, flag := range []string{"-i", "-k", "-S", "-l"} {
			out, err := run("ethtool", flag, name)(ctx)
			all = append(all, out...)
			if flag == "-i" || flag == "-k" { // not every driver counts
				errs = append(errs, err)
			}
		}
		return all, errors.Join(errs...)
	}
}
