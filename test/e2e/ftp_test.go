package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// hostOpening is a host whose one name opens ports.
func hostOpening(i int, address netip.Addr, name, ports string) string {
	return fmt.Sprintf("  - name: %s\n    address: %s\n    services:\n      - {names: [%s], ports: [%s]}\n", hostName(i), address, name, ports)
}

// Passive FTP: one answer opens the control port and the range of the data ports.
func TestPassiveFTP(t *testing.T) {
	t.Parallel()
	const name, size = "ftp.foo.example.", 300_000
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 3, Resolver: true})
	r.resolver()
	host := r.Hosts()[0]
	r.vsftpd(host, size)
	d := r.start(r.publishing(hostOpening(0, host.IP, name, "tcp/21, tcp/50000-50009")))
	for i, c := range []struct {
		what    string
		program func(from netns.Node, address netip.Addr, to string) *netns.Command
	}{
		{"curl, extended", func(from netns.Node, address netip.Addr, to string) *netns.Command {
			return from.Command(t.Context(), "curl", "-sS", "--max-time", "20", "-o", to, fmt.Sprintf("ftp://%s/file", address))
		}},
		{"curl, old words", func(from netns.Node, address netip.Addr, to string) *netns.Command {
			return from.Command(t.Context(), "curl", "-sS", "--max-time", "20", "--disable-epsv", "-o", to, fmt.Sprintf("ftp://%s/file", address))
		}},
		{"lftp", func(from netns.Node, address netip.Addr, to string) *netns.Command {
			return from.Command(t.Context(), "lftp", "-c", fmt.Sprintf("set net:timeout 10; set net:max-retries 1; set cmd:fail-exit yes; open ftp://%s; ls; get file -o %s; ls", address, to))
		}},
	} {
		addresses, err := dig(r.RemoteClients[i], r.Resolver.IP, name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(r.directory, fmt.Sprint("got", i))
		if out, err := c.program(r.RemoteClients[i], addresses[0], to).CombinedOutput(); err != nil || fileSize(t, to) != size {
			t.Errorf("%s: %v: %s", c.what, err, out)
		}
	}
	eventually(t, 5*time.Second, "three answers are claimed", func() bool { return d.status().Claimed >= 3 })
	if claimed := d.status().Claimed; claimed != 3 {
		t.Errorf("%d answers were claimed by three clients", claimed)
	}
}

// vsftpd serves a file of so many octets to everybody.
func (r *realm) vsftpd(at netns.Node, size int) {
	r.t.Helper()
	root := r.t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), make([]byte, size), 0o644); err != nil { //nolint:gosec // for everybody
		r.t.Fatal(err)
	}
	if err := os.Chmod(root, 0o555); err != nil { //nolint:gosec // the server wants nobody to write there
		r.t.Fatal(err)
	}
	config := filepath.Join(r.directory, "vsftpd.conf")
	text := fmt.Sprintf(`listen=YES
listen_address=%s
background=NO
anonymous_enable=YES
local_enable=NO
anon_root=%s
run_as_launching_user=YES
seccomp_sandbox=NO
pasv_min_port=50000
pasv_max_port=50009
ftp_username=root
`, at.IP, root)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	server := at.Command(context.Background(), "vsftpd", config)
	var said strings.Builder
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, 10*time.Second, "vsftpd listens", func() bool {
		return connects(at, netip.AddrPortFrom(at.IP, 21)) == nil
	})
}
