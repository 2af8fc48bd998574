package e2e

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

// peer is one end of a tunnel: a certificate for OpenVPN, keys for WireGuard, by their files.
type peer struct{ certificate, fingerprint, private, public string }

// peers are the ends inside and outside.
type peers struct{ inside, outside peer }

func newPeers(t *testing.T) peers {
	t.Helper()
	return peers{newPeer(t), newPeer(t)}
}

func newPeer(t *testing.T) peer {
	t.Helper()
	own := certificate.SelfSigned(t, x509.Certificate{Subject: pkix.Name{CommonName: "peer"}})
	public, secret := own.PEM(t)
	curve, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	p := peer{certificate: filepath.Join(folder, "peer.pem"), private: filepath.Join(folder, "wireguard"),
		public:      base64.StdEncoding.EncodeToString(curve.PublicKey().Bytes()),
		fingerprint: strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(own.Raw)), " ", ":")}
	both := append(secret, public...)
	for name, text := range map[string][]byte{p.certificate: both, p.private: []byte(base64.StdEncoding.EncodeToString(curve.Bytes()) + "\n")} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// openVPN opens a tunnel with all defaults but that TCP in it is not kept to small segments, and goes through
// it: a full frame of the tunnel is two fragments outside.
func openVPN(ctx context.Context, w *works, fill func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	far := netip.MustParseAddr("172.16.1.1")
	var said [2]strings.Builder
	var commands [2]*netns.Command
	for i, end := range []struct {
		at           netns.Node
		own, other   peer
		here, remote string
		more         []string
	}{
		{w.server, w.known.outside, w.known.inside, far.String(), "172.16.1.2", []string{"--tls-server", "--dh", "none", "--local", w.server.IP.String(), "--lport", "1194"}},
		{w.host, w.known.inside, w.known.outside, "172.16.1.2", far.String(), []string{"--tls-client", "--remote", w.server.IP.String(), "1194", "--nobind"}},
	} {
		command := end.at.Command(ctx, "openvpn", append([]string{"--dev", "ovpn0", "--dev-type", "tun", "--proto", "udp4", "--ifconfig", end.here, end.remote, "--mssfix", "0",
			"--cert", end.own.certificate, "--key", end.own.certificate, "--peer-fingerprint", end.other.fingerprint}, end.more...)...)
		commands[i] = command
		command.Stdout, command.Stderr = &said[i], &said[i]
		if err := command.Start(); err != nil {
			return err
		}
		defer func() { cancel(); _ = command.Wait() }()
		if i > 0 {
			continue
		}
		if err := until(ctx, func() error { return listens(w.server, 1194) }); err != nil {
			return fmt.Errorf("%w: %s", err, &said[0])
		}
	}
	if err := w.through(ctx, far, 1472, fill); err != nil {
		cancel()
		_, _ = commands[0].Wait(), commands[1].Wait()
		return fmt.Errorf("%w: %s%s", err, &said[0], &said[1])
	}
	return nil
}

// wireGuard opens a tunnel with all defaults, and goes through it.
func wireGuard(ctx context.Context, w *works, fill func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	far := netip.MustParseAddr("172.16.2.1")
	w.tunnels++ // the kernel may still have the one of the other gateway
	for _, end := range []struct {
		at         netns.Node
		own, other peer
		here, name string
		more       []string
	}{
		{w.server, w.known.outside, w.known.inside, "172.16.2.1/30", "s", []string{}},
		{w.host, w.known.inside, w.known.outside, "172.16.2.2/30", "h", []string{"endpoint", w.server.IP.String() + ":51820"}},
	} {
		// Its control socket is a file that has the interface's name, for all namespaces.
		name := fmt.Sprint("wg", end.name, w.tunnels) + w.ID()[strings.LastIndex(w.ID(), "-")+1:]
		command, err := w.runWireGuard(ctx, end.at.Namespace, name, append([]string{"private-key", end.own.private, "listen-port", "51820",
			"peer", end.other.public, "allowed-ips", "172.16.2.0/30"}, end.more...)...)
		if err != nil {
			return err
		}
		defer func() { cancel(); _ = command.Wait() }()
		if err := quietly(end.at.Command(ctx, "ip", "address", "add", end.here, "dev", name)); err != nil {
			return err
		}
		if err := quietly(end.at.Command(ctx, "ip", "link", "set", name, "up")); err != nil {
			return err
		}
	}
	return w.through(ctx, far, 1392, fill)
}

// runWireGuard runs wireguard-go, and sets up its interface once it listens for that: a control socket that
// nobody listens at yet (ss -l shows it, too) wg removes, and wireguard-go ends.
func (w *works) runWireGuard(ctx context.Context, at *netns.Namespace, name string, settings ...string) (*netns.Command, error) {
	socket := "/var/run/wireguard/" + name + ".sock"
	w.t.Cleanup(func() { _ = os.Remove(socket) }) // killed, it does not
	command := at.Command(ctx, "wireguard-go", "--foreground", name)
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		return nil, err
	}
	err := until(ctx, func() error {
		out, err := at.Command(ctx, "ss", "-Hx", "state", "listening").Output()
		if err == nil && !bytes.Contains(out, []byte(socket)) {
			err = fmt.Errorf("wireguard-go does not listen for what %s is to do", name)
		}
		return err
	})
	if err == nil {
		err = quietly(at.Command(ctx, "wg", append([]string{"set", name}, settings...)...))
	}
	if err != nil {
		_, _ = command.Process.Kill(), command.Wait()
		return nil, fmt.Errorf("%w: %s", err, &said)
	}
	return command, nil
}

// through is what has to pass a tunnel: echoes of so many octets, which fill its frames, and a megabyte each way.
func (w *works) through(ctx context.Context, far netip.Addr, echo int, fill func()) error {
	err := until(ctx, func() error { return quietly(w.host.Command(ctx, "ping", "-c", "1", "-W", "0.2", far.String())) })
	if err == nil {
		err = quietly(w.host.Command(ctx, "ping", "-c", "3", "-i", "0.2", "-W", "5", "-M", "do", "-s", fmt.Sprint(echo), far.String()))
	}
	if err != nil {
		return err
	}
	fill()
	return w.pages(w.host, far, 8080)
}

// listens says whether a UDP port has a socket.
func listens(at netns.Node, port int) error {
	out, err := at.Command(context.Background(), "ss", "-Hlun", fmt.Sprintf("sport = :%d", port)).Output()
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("nobody listens on UDP port %d", port)
	}
	return err
}

func quietly(command *netns.Command) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", command.Args, err, out)
	}
	return nil
}

// until tries for half a minute.
func until(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
