package process

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Same runs a program that may do what this process may, and returns what it says.
func Same(ctx context.Context, path string, arguments, environment []string) ([]byte, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := raiseAmbient(); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, path)
	command.Args, command.Env = arguments, environment
	return command.CombinedOutput()
}

// Become executes a program in the place of this one, which may do what this process may. It returns only with an error.
func Become(path string, arguments, environment []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := raiseAmbient(); err != nil {
		return err
	}
	return syscall.Exec(path, arguments, environment) //nolint:gosec // the caller's own program
}

// raiseAmbient gives this thread back the ambient capabilities that the process was given: startWithout has taken them from
// threads. Root has none, and needs none.
func raiseAmbient() error {
	var sets [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &sets[0]); err != nil {
		return err
	}
	given := uint64(sets[1].Permitted&sets[1].Inheritable)<<32 | uint64(sets[0].Permitted&sets[0].Inheritable)
	for c := range unix.CAP_LAST_CAP + 1 {
		if given>>c&1 == 1 {
			if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(c), 0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
