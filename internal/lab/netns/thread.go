package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// onOwnThread runs f in a goroutine locked to a thread that ends with f, so
// that whatever f does to the thread is done with it. It does not wait.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// The main thread does not end with its goroutine: it would stay in
		// f's namespace, and hold it, for as long as the process lives. While
		// it is locked here, another goroutine must get another thread.
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			f()
		}()
		<-done
		runtime.UnlockOSThread()
	}()
}

// inside runs f on a thread in the network namespace that file is open on, and
// waits. A panic, or the Goexit of a failed test, goes on in the caller, whose
// deferred functions so run.
func inside(file *os.File, f func() error) error {
	var (
		err      error
		returned bool
		panicked any
		stack    []byte
	)
	done := make(chan struct{})
	onOwnThread(func() {
		defer close(done)
		defer func() {
			if panicked = recover(); panicked != nil {
				stack = debug.Stack()
			}
		}()
		if err = enter(file); err == nil {
			err = f()
		}
		returned = true
	})
	<-done
	switch {
	case panicked != nil:
		panic(fmt.Sprintf("%v\n\ninside a namespace:\n%s", panicked, stack))
	case !returned:
		runtime.Goexit()
	}
	return err
}

// enter moves the calling thread into the network namespace that file is open
// on. The descriptor cannot be closed, and its number not given to another file,
// meanwhile.
func enter(file *os.File) error {
	raw, err := file.SyscallConn()
	var entered error
	if err == nil {
		err = raw.Control(func(fd uintptr) { entered = unix.Setns(int(fd), unix.CLONE_NEWNET) })
	}
	if err = errors.Join(err, entered); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", file.Name(), err)
	}
	return nil
}

// keeper is a thread that stays in a namespace to start processes from. They
// ask for a signal when their parent dies (PR_SET_PDEATHSIG), and to the
// kernel the parent is the thread: it must live as long as the lab.
type keeper struct {
	work    chan func()
	stopped chan struct{}
}

func newKeeper(file *os.File) (*keeper, error) {
	k := &keeper{work: make(chan func()), stopped: make(chan struct{})}
	entered := make(chan error, 1)
	onOwnThread(func() {
		defer close(k.stopped)
		err := enter(file)
		entered <- err
		if err != nil {
			return
		}
		for f := range k.work {
			f()
		}
	})
	if err := <-entered; err != nil {
		return nil, err
	}
	return k, nil
}

// do runs f on the keeper's thread and waits for it.
func (k *keeper) do(f func() error) error {
	result := make(chan error, 1)
	k.work <- func() { result <- f() }
	return <-result
}

// stop ends the thread. Nobody may call do from now on.
func (k *keeper) stop() {
	close(k.work)
	<-k.stopped
}
