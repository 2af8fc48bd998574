package systemd

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Environment is what systemd has told its service, by environment variables.
type Environment struct {
	Socket   string        // NOTIFY_SOCKET; empty: nobody listens
	Watchdog time.Duration // WATCHDOG_USEC: a service that is silent for so long is ended; 0: it may be silent
}

// Read takes what is for this process out of the environment, so that programs it starts do not speak in its place.
func Read(pid int, get func(string) string, unset func(string) error) Environment {
	e := Environment{Socket: get("NOTIFY_SOCKET")}
	usec, err := strconv.ParseUint(get("WATCHDOG_USEC"), 10, 62)
	if of := get("WATCHDOG_PID"); err == nil && (of == "" || of == strconv.Itoa(pid)) {
		e.Watchdog = time.Duration(usec) * time.Microsecond //nolint:gosec // 62 bits; what overflows is no time that anybody wants
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = unset(name) // it has no other name
	}
	return e
}

// tell sends assignments, each a line.
func (e Environment) tell(assignments ...string) error {
	if e.Socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: e.Socket, Net: "unixgram"}) // @ begins an abstract name, here as there
	if err == nil {
		_, err = c.Write([]byte(strings.Join(assignments, "\n")))
		_ = c.Close() // a datagram is sent or not
	}
	if err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	return nil
}

// reloading carries the time that Type=notify-reload wants (systemd 253).
func reloading() []string {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // there is always one
	return []string{"RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000)}
}
