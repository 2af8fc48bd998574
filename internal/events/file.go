package events

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// file appends lines to a file, and to the one that takes its place when it is moved away.
type file struct {
	path string
	file *os.File
	part int // bytes of the next line that stand in the file already
}

// deliver implements outlet.
func (f *file) deliver(_ context.Context, lines [][]byte, _ func(error)) (int, error) {
	if err := f.follow(); err != nil {
		return 0, err
	}
	for i, line := range lines {
		n, err := f.file.Write(append(line, '\n')[f.part:])
		if err != nil { // as of a full disk, which may have taken some of it
			f.part += n
			return i, err
		}
		f.part = 0
	}
	return len(lines), nil
}

// follow opens the file unless it is open and still where it was.
func (f *file) follow() error {
	if f.file != nil {
		there, err := os.Stat(f.path)
		mine, mineErr := f.file.Stat()
		if err == nil && mineErr == nil && os.SameFile(there, mine) {
			return nil
		}
		_ = f.file.Close() // what a full disk did not take was told by Write
		f.file = nil
	}
	// Without O_NONBLOCK, to open a named pipe waits for a reader.
	opened, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: make its directory", err)
	}
	if err != nil {
		return err
	}
	if err := endLine(opened); err != nil {
		_ = opened.Close()
		return err
	}
	f.file, f.part = opened, 0
	return nil
}

// endLine ends a last line that a killed daemon, or a full disk, left without its end.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: use a command to write to others", f.Name())
	}
	if info.Size() == 0 {
		return nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		_, err = f.WriteString("\n")
	}
	return err
}

// ended implements outlet.
func (f *file) ended() <-chan struct{} { return nil }

// close implements outlet.
func (f *file) close(context.Context) error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
