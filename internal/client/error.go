package client

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"

	"github.com/realmgate/realmgate/internal/api"
)

// Sentinels for why a gateway cannot be asked.
var (
	ErrNoGateway  = errors.New("no gateway answers")
	ErrPermission = errors.New("permission denied")
)

// Error is what the gateway itself said. Its detail may have several lines, one for
// each fault of a configuration file.
type Error struct{ api.Problem }

// Error returns the gateway's words.
func (e *Error) Error() string {
	if e.Remedy != "" {
		return e.Detail + ": " + e.Remedy
	}
	return e.Detail
}

// unreachable says in one line which socket, and what to do.
func (c *Client) unreachable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w on %s: start it with: %s", ErrNoGateway, c.socket, c.start)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("open %s: %w: run as root, or as a member of realmgate-read to look, realmgate-operate to act, or realmgate-admin for everything", c.socket, ErrPermission)
	case isTimeout(err):
		return fmt.Errorf("the gateway on %s does not answer: it hangs or is stopped: look at its log", c.socket)
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return fmt.Errorf("open %s: %w", c.socket, operation.Err)
	}
	return c.broken(err)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, syscall.EAGAIN) || errors.As(err, &timeout) && timeout.Timeout()
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
