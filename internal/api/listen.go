package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse says that a daemon already answers on the socket.
var ErrInUse = errors.New("a gateway already answers there: stop it first, or start this one with another --instance")

const (
	// maxSocketPath is what struct sockaddr_un holds, without its final zero.
	maxSocketPath = 107
	// answerTime is how long a daemon has to accept before it counts as busy,
	// which is as good as alive.
	answerTime = time.Second
)

// Listen opens the control socket at path, of mode 0600. A missing directory is
// made, of mode 0711. A socket that an earlier daemon left behind is removed,
// but only if nobody answers on it. The file goes when the listener is closed.
func Listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("control socket %s: the path has %d bytes: use at most %d", path, len(path), maxSocketPath)
	}
	directory := filepath.Dir(path)
	if err := os.MkdirAll(directory, 0o711); err != nil { //nolint:gosec // members of groups pass through to the socket
		return nil, fmt.Errorf("make the directory of the control socket: %w", err)
	}
	unlock, err := lock(directory)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeStale(path); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	l, err := listenPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	return l, nil
}

// Open lets others than the gateway's user reach the socket, where access has roles for some, or nobody else. Who may enter its
// directory is not changed.
func Open(path string, access Access) error {
	mode := uint32(0o600)
	if len(access) > 0 {
		mode = 0o666 // who asks is looked at
	}
	if err := chmodSocket(path, mode); err != nil {
		return fmt.Errorf("say who may open the control socket %s: %w", path, err)
	}
	return nil
}

// chmodSocket changes no other file, if somebody has put a link in its place.
func chmodSocket(path string, mode uint32) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.New("it is a socket no more")
	}
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}

// lock keeps two daemons that start at once from removing each other's socket.
func lock(directory string) (unlock func(), err error) {
	file, err := os.Open(directory)
	if err != nil {
		return nil, fmt.Errorf("lock the directory of the control socket: %w", err)
	}
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", directory, err)
	}
	return func() { _ = file.Close() }, nil // closing unlocks
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is a file that is not a socket: remove it or use another --socket")
	}
	conn, err := net.DialTimeout("unix", path, answerTime)
	if err == nil {
		_ = conn.Close()
	}
	// Only a refusal proves that nobody listens; a full queue, for one, does not.
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return ErrInUse
	}
	return os.Remove(path)
}

// listenPrivate binds a socket that is 0600 from its first moment: the kernel
// gives the file the mode of the descriptor. Changing it afterwards would leave
// a gap, and the umask belongs to the whole process.
func listenPrivate(path string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var failed error
		if err := conn.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) }); err != nil {
			return err
		}
		return failed
	}}
	return config.Listen(context.Background(), "unix", path)
}
