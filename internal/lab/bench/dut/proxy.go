package dut

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// proxy is a program in the device's namespace that takes connections at the device's own address, and opens others to
// hosts.
type proxy struct {
	rig     *bench.Rig
	command *netns.Command
	log     bytes.Buffer
}

func (p *proxy) Front(int) netip.Addr { return bench.PublicAddress.Addr() }

// onlyWeb is an error where a setup asks for more than sites.
func onlyWeb(s bench.Setup) error {
	if s.Web.Hosts == 0 {
		return fmt.Errorf("%w: it leads sites to hosts, and nothing else", bench.ErrUnsupported)
	}
	return nil
}

// start runs the program until the proxy is down. It is up when it takes connections.
func (p *proxy) start(ctx context.Context, rig *bench.Rig, name string, arguments ...string) error {
	p.rig = rig
	p.command = rig.Device.Command(context.Background(), name, arguments...)
	p.command.Stdout, p.command.Stderr = &p.log, &p.log
	if err := p.command.Start(); err != nil {
		p.command = nil
		return fmt.Errorf("start %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		c, err := rig.Device.DialContext(ctx, "tcp", netip.AddrPortFrom(p.Front(0), bench.WebPort).String())
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve: %w: %s", name, err, bytes.TrimSpace(p.log.Bytes()))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// configure writes the program's configuration, and returns its path.
func configure(rig *bench.Rig, text string) (path string, err error) {
	path = filepath.Join(rig.Directory, rig.Instance+".conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return path, nil
}

func (p *proxy) Down() error {
	if p.command == nil {
		return nil
	}
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	limit := time.AfterFunc(stopWithin, func() { _ = p.command.Process.Kill() })
	defer limit.Stop()
	err := p.command.Wait()
	p.command = nil
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil // by the signal
	}
	return err
}

func (p *proxy) Reset(context.Context) error           { return nil }
func (p *proxy) Count(context.Context) (int, error)    { return 0, bench.ErrUnsupported }
func (p *proxy) Memory(context.Context) (int64, error) { return 0, bench.ErrUnsupported }
