package jail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	pollEvery = time.Second
	chunkSize = 64 << 10 // bytes read at once
	tailSize  = 64       // bytes
)

// follower reads what is written to a file from now on, and to the files that take its
// place. It looks when it is told to.
type follower struct {
	path  string
	lines lines
	each  func(line []byte)

	file   *os.File
	offset int64
	// tail is what stands before offset. It changes when the file is cut and grows beyond
	// offset before anybody looks.
	tail   []byte
	absent bool // there was no such file: all of the next one is new
	chunk  []byte
}

func newFollower(path string, each func([]byte), skipped *atomic.Uint64) *follower {
	return &follower{path: path, lines: lines{skipped: skipped}, each: each, chunk: make([]byte, chunkSize)}
}

// poll reads what there is. An error says what keeps it from that; the next poll tries
// again.
func (f *follower) poll(ctx context.Context) error {
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if err := f.read(ctx); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.absent = true
		return fmt.Errorf("%s is gone: waiting for a new one", f.path)
	}
	if err != nil {
		return err
	}
	mine, err := f.file.Stat()
	if err != nil {
		return err
	}
	// While the new file is empty its writer may not have it yet, and write to the old one.
	if os.SameFile(info, mine) || info.Size() == 0 {
		return nil
	}
	if err := f.read(ctx); err != nil { // what came before the new file was seen
		return err
	}
	f.close()
	f.absent = true
	if err := f.open(); err != nil {
		return err
	}
	return f.read(ctx)
}

// open begins at the end of a file that was there before it could be followed, and at the
// begin of any other.
func (f *follower) open() error {
	// Without O_NONBLOCK, to open a named pipe waits for a writer.
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f.absent = true
		return fmt.Errorf("%s does not exist yet: waiting for it", f.path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: let the gateway's user read it, by its group or by CAP_DAC_READ_SEARCH", err)
	}
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file: only those can be followed, use a command for others", f.path)
	}
	if err != nil {
		_ = file.Close() // only read: nothing can be lost
		return err
	}
	f.file, f.offset, f.tail = file, 0, f.tail[:0]
	f.lines.restart()
	if !f.absent {
		err = f.toEnd(info.Size())
	}
	f.absent = false
	return err
}

func (f *follower) toEnd(size int64) error {
	if size == 0 {
		return nil
	}
	tail := make([]byte, min(size, tailSize))
	n, err := f.file.ReadAt(tail, size-int64(len(tail)))
	if err != nil && !errors.Is(err, io.EOF) {
		f.close()
		return err
	}
	f.offset, f.tail = size, tail[:n]
	if n < len(tail) || tail[n-1] != '\n' {
		f.lines.skipFirst()
	}
	return nil
}

// read reads to the end of the open file.
func (f *follower) read(ctx context.Context) error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	cut, err := f.wasCut(info.Size())
	if err != nil {
		return err
	}
	if cut {
		f.offset, f.tail = 0, f.tail[:0]
		f.lines.restart()
	}
	for ctx.Err() == nil {
		n, err := f.file.ReadAt(f.chunk, f.offset)
		if n > 0 {
			f.offset += int64(n)
			f.remember(f.chunk[:n])
			f.lines.feed(f.chunk[:n], f.each)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wasCut reports whether what was read is no longer there.
func (f *follower) wasCut(size int64) (bool, error) {
	if size <= f.offset || len(f.tail) == 0 {
		return size < f.offset, nil
	}
	var now [tailSize]byte
	n, err := f.file.ReadAt(now[:len(f.tail)], f.offset-int64(len(f.tail)))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return !bytes.Equal(now[:n], f.tail), nil
}

func (f *follower) remember(read []byte) {
	if len(read) < tailSize {
		if more := len(f.tail) + len(read) - tailSize; more > 0 {
			f.tail = f.tail[:copy(f.tail, f.tail[more:])]
		}
		f.tail = append(f.tail, read...)
		return
	}
	f.tail = append(f.tail[:0], read[len(read)-tailSize:]...)
}

func (f *follower) close() {
	if f.file != nil {
		_ = f.file.Close() // only read: nothing can be lost
		f.file = nil
	}
}
