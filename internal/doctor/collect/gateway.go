package collect

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/doctor"
)

// GatewayAnswers is how long a gateway has to answer.
const GatewayAnswers = 2 * time.Second

// gateway asks the one at a socket how it is, and how it serves its interfaces.
func gateway(ctx context.Context, o client.Options) (g doctor.Gateway, served []doctor.Interface) {
	ctx, stop := context.WithTimeout(ctx, GatewayAnswers)
	defer stop()
	g.Socket = o.Socket
	if g.Socket == "" {
		g.Socket = client.SocketPath(o.Instance)
	}
	g.PID = Listener(g.Socket)
	_, g.AtWork = datapath.Pinned(cmp.Or(o.Instance, client.DefaultInstance))
	c := client.New(o)
	status, err := c.Status(ctx)
	if errors.Is(err, client.ErrNoGateway) {
		return g, nil
	}
	if err != nil {
		g.Error = err.Error()
		if !errors.Is(err, context.DeadlineExceeded) { // it has spoken
			g.PID = 0
		}
		return g, nil
	}
	g.Answers, g.PID, g.Warnings = true, status.PID, status.Warnings
	for _, i := range status.Interfaces {
		served = append(served, doctor.Interface{Name: i.Name, Mode: i.Mode})
	}
	lists, _ := c.Lists(ctx) // who may not ask for them may look at the status
	for _, l := range lists {
		g.Lists = append(g.Lists, doctor.List{Name: l.Name, Error: l.Error, Fetched: l.Fetched})
	}
	return g, served
}

// Listener is the process that has a socket, also one that hangs; 0 where nobody has it.
func Listener(socket string) int {
	conn, err := net.DialTimeout("unix", socket, GatewayAnswers)
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(peer.Pid)
		}
	})
	return pid
}
