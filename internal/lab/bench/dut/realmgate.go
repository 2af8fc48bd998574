package dut

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

var realmgate = bench.Model{
	Name:  "realmgate",
	About: "this program",
	Held:  true, Translates: true,
	Bytes: func(sessions int) int64 {
		return method.RealmgateBytes(method.Capacity(sessions), bench.MostTranslated)
	},
	New: func() bench.Device { return &realmgateDevice{mode: "xdp"} },
}

// realmgateSet has addresses in sets instead of a rule for each.
var realmgateSet = bench.Model{
	Name: "realmgate-set", About: "this program with addresses in sets instead of a rule for each",
	Held: realmgate.Held, Translates: true, Bytes: realmgate.Bytes,
	New: func() bench.Device { return &realmgateDevice{mode: "xdp", sets: true} },
}

// realmgateTCX is the same as it serves virtual interfaces.
var realmgateTCX = bench.Model{
	Name: "realmgate-tcx", About: "this program where traffic control begins, as it serves virtual interfaces",
	Held: realmgate.Held, Translates: true, Bytes: realmgate.Bytes,
	New: func() bench.Device { return &realmgateDevice{mode: "tcx"} },
}

// realmgateDevice is a daemon in the device's namespace.
type realmgateDevice struct {
	mode    string
	sets    bool   // addresses of rules are in sets
	apart   bool   // each site has an address
	more    string // of the configuration
	rig     *bench.Rig
	setup   bench.Setup
	config  string // path
	client  *client.Client
	command *netns.Command
	log     bytes.Buffer
}

const startWithin, stopWithin = 30 * time.Second, 10 * time.Second

func (d *realmgateDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if err := realmgateCan(setup); err != nil {
		return err
	}
	d.setup, d.rig, d.client = setup, rig, client.New(client.Options{Instance: rig.Instance})
	d.config = filepath.Join(rig.Directory, rig.Instance+".yaml")
	protection, err := d.protection()
	if err != nil {
		return err
	}
	if err := d.write(realmgateConfiguration(d.mode, setup, d.apart) + d.rules(setup) + protection + d.more); err != nil {
		return err
	}
	if setup.Pass.Count > 0 { // it is nowhere else
		if err := rig.Device.Route(forwardedNetwork, bench.PublicNextHop.String()); err != nil {
			return err
		}
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	return d.asked(ctx)
}

// forwardedNetwork holds bench.Forwarded and all addresses that follow it in a setup.
const forwardedNetwork = "100.64.0.0/12"

func (d *realmgateDevice) write(configuration string) error {
	if err := os.WriteFile(d.config, []byte(configuration), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// realmgateCan is an error for setups that no configuration gives.
func realmgateCan(s bench.Setup) error {
	switch {
	case s.NoTrack, s.NAT == (trafficgen.Addresses{}) && s.DNAT == (trafficgen.DNAT{}) && s.Pool == (bench.Pool{}) && s.Web == (bench.Web{}):
		return fmt.Errorf("%w: realmgate always translates", bench.ErrUnsupported)
	case s.Mark:
		return fmt.Errorf("%w: realmgate has no such rules", bench.ErrUnsupported)
	case s.DNAT != (trafficgen.DNAT{}) && (s.NAT != (trafficgen.Addresses{}) || !s.Inbound):
		return fmt.Errorf("%w: realmgate translates destinations of sessions from outside only, and not their sources", bench.ErrUnsupported)
	}
	return nil
}

// realmgateConfiguration is the least that makes a gateway do what the setup says.
// Ports have no quarantine and hosts no limits, which the kernel's NAT does not know either.
func realmgateConfiguration(mode string, setup bench.Setup, apart bool) string {
	text := fmt.Sprintf(`interfaces: {public: [%[1]s], private: [%[2]s], %[7]s: [%[1]s, %[2]s]}
realm: {zones: [bench.example.], nameserver: ns.bench.example.}
dns: {public: %s, private: %s, verify: none}
timeouts: {udp: %ds}
limits: {host_sessions: 0, host_ports: {udp: 0, tcp: 0, icmp: 0}, host_rate: 0, remote_sessions: 0, remote_rate: 0, binding_sessions: 0}
capacity: %d
`, bench.PublicInterface, bench.PrivateInterface, bench.PublicAddress.Addr(), bench.PrivateAddress.Addr(),
		max(1, int(setup.Timeout/time.Second)), method.Capacity(setup.Sessions), mode)
	switch {
	case setup.Web != (bench.Web{}):
		return text + webConfiguration(setup.Web, apart)
	case setup.Pool != (bench.Pool{}):
		return text + lenderConfiguration(setup.Pool)
	case setup.DNAT != (trafficgen.DNAT{}):
		return text + poolConfiguration(setup)
	}
	return text + fmt.Sprintf("pool: {addresses: [198.18.254.1]}\noutbound: {addresses: [%s], quarantine: 0s}\n", span(setup.NAT))
}

func (d *realmgateDevice) start(ctx context.Context) error {
	d.log.Reset()
	d.command = d.rig.Device.Command(context.Background(), d.rig.Executable, "run", "-c", d.config, "--instance", d.rig.Instance)
	d.command.Stdout, d.command.Stderr = &d.log, &d.log
	if err := d.command.Start(); err != nil {
		d.command = nil
		return fmt.Errorf("start %s: %w", d.rig.Executable, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.command.Wait() }()
	limit := time.After(startWithin)
	for {
		if status, err := d.client.Status(ctx); err == nil && status.PID == d.command.Process.Pid {
			return d.ban(ctx)
		}
		select {
		case err := <-ended:
			d.command = nil
			return fmt.Errorf("the gateway ended: %w: %s", err, bytes.TrimSpace(d.log.Bytes()))
		case <-limit:
			return fmt.Errorf("the gateway does not serve after %s", startWithin)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (d *realmgateDevice) stop() error {
	if d.command == nil {
		return nil
	}
	if err := errors.Join(d.signal(syscall.SIGTERM), d.Resume()); err != nil {
		return fmt.Errorf("stop the gateway: %w", err)
	}
	limit := time.AfterFunc(stopWithin, func() { _ = d.command.Process.Kill() }) // it may have ended at last
	err := d.command.Wait()
	limit.Stop()
	d.command = nil
	if err != nil {
		return fmt.Errorf("stop the gateway: %w: %s", err, bytes.TrimSpace(d.log.Bytes()))
	}
	return nil
}

// Reset ends all sessions, as an operator would. There is no quarantine: nothing of
// the trial before is left. A pool is lent by a gateway started anew, since
// an address that was claimed is not free at once.
func (d *realmgateDevice) Reset(ctx context.Context) error {
	if d.setup.DNAT != (trafficgen.DNAT{}) {
		if err := d.stop(); err != nil {
			return err
		}
		return d.start(ctx)
	}
	return d.EndSessions(ctx)
}

// EndSessions implements bench.Acquainter.
func (d *realmgateDevice) EndSessions(ctx context.Context) error {
	_, err := d.client.EndSessions(ctx, client.Filter{})
	return err
}

// Pause and Resume implement bench.Pauser.
func (d *realmgateDevice) Pause() error { return d.signal(syscall.SIGSTOP) }

func (d *realmgateDevice) Resume() error { return d.signal(syscall.SIGCONT) }

// signal sends it unless the gateway has ended.
func (d *realmgateDevice) signal(s syscall.Signal) error {
	if d.command == nil {
		return nil
	}
	if err := d.command.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (d *realmgateDevice) Count(ctx context.Context) (int, error) {
	status, err := d.client.Status(ctx)
	return int(status.Sessions.Used), err
}

func (d *realmgateDevice) Memory(ctx context.Context) (int64, error) {
	status, err := d.client.Status(ctx)
	return int64(status.Bytes), err
}

func (d *realmgateDevice) Down() error { return d.stop() }
