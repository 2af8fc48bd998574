package demo

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A capture keeps so many frames, and has ended when none came for so long.
const (
	mostCaptured = 10_000
	quiet        = 200 * time.Millisecond
)

// capture keeps the frames that come to some ports of somebody.
type capture struct {
	sockets []*netns.Frames
	enough  chan struct{} // closed when no more are waited for
	done    sync.WaitGroup

	mu     sync.Mutex
	frames [][]byte
	failed error
}

func newCapture(at *netns.Namespace, ports ...string) (*capture, error) {
	c := &capture{enough: make(chan struct{})}
	for _, port := range ports {
		socket, err := at.Frames(port)
		if err != nil {
			c.close()
			return nil, err
		}
		c.sockets = append(c.sockets, socket)
	}
	for _, socket := range c.sockets {
		c.done.Go(func() { c.read(socket) })
	}
	return c, nil
}

func (c *capture) read(socket *netns.Frames) {
	for {
		frame, err := socket.Receive(time.Now().Add(quiet))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			select {
			case <-c.enough:
				return
			default:
				continue
			}
		}
		c.mu.Lock()
		if err == nil && len(c.frames) >= mostCaptured {
			err = errors.New("there are too many frames to keep")
		}
		if err == nil {
			c.frames = append(c.frames, frame)
		}
		c.failed = errors.Join(c.failed, err)
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// all waits until no more frames come, and returns what came.
func (c *capture) all() ([][]byte, error) {
	close(c.enough)
	c.done.Wait()
	return c.frames, c.failed
}

func (c *capture) close() {
	for _, socket := range c.sockets {
		_ = socket.Close() // only read
	}
	c.done.Wait()
}
