package process

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startWithout starts a command that inherits no capabilities of a user that was given some (ambient ones, capabilities(7)), and
// this process keeps them. Root's commands have root's.
func startWithout(command *exec.Cmd) error {
	runtime.LockOSThread() // the command is begun by this thread, whose ambient set nobody needs any more
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	return command.Start()
}
