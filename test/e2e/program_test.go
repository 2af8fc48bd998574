package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Programs that ask for a name themselves and connect: git, a mailer whose peer speaks
// first, and apt, which fetches lists and a package, each from a client of its own
// behind one resolver.
func TestProgramsByName(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, RemoteClients: 3, Resolver: true})
	r.resolver()
	hosts := r.Hosts()
	r.gitServer(hosts[0])
	letters := mailServer(t, hosts[1])
	r.packageServer(hosts[2])
	r.start(r.publishing(hostOpening(0, hosts[0].IP, "git.foo.example.", "tcp/9418"),
		hostOpening(1, hosts[1].IP, "mail.foo.example.", "tcp/25:2525, tcp/587:2525"),
		hostOpening(2, hosts[2].IP, "packages.foo.example.", "tcp/80:8080, tcp/443")))
	run := func(client int, arguments ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		command := r.named(ctx, r.RemoteClients[client], arguments[0], arguments[1:]...)
		command.Dir = r.directory
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", arguments, err, out)
		}
	}
	clone := filepath.Join(r.directory, "clone")
	run(0, "git", "-c", "safe.directory=*", "clone", "-q", "git://git.foo.example/project", clone)
	if text, err := os.ReadFile(filepath.Join(clone, "file")); err != nil || string(text) != "content\n" {
		t.Errorf("git clone: %q, %v", text, err)
	}
	for _, port := range []string{"25", "587"} {
		run(1, "swaks", "--server", "mail.foo.example", "--port", port, "--timeout", "10",
			"--helo", "client.example", "--from", "one@client.example", "--to", "two@foo.example", "--body", "letter "+port)
		select {
		case letter := <-letters:
			if !strings.Contains(letter, "letter "+port) {
				t.Errorf("the letter by port %s: %q", port, letter)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("no letter came by port %s", port)
		}
	}
	state := filepath.Join(r.directory, "apt")
	list := filepath.Join(state, "sources.list")
	if err := os.MkdirAll(filepath.Join(state, "lists", "partial"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte("deb [trusted=yes] http://packages.foo.example/ ./\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := []string{"-q", "-o", "Dir::Etc::SourceList=" + list, "-o", "Dir::Etc::SourceParts=/nonexistent", "-o", "Dir::State::Lists=" + filepath.Join(state, "lists"),
		"-o", "Dir::Cache=" + state, "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Proxy=false", "-o", "Acquire::Languages=none"}
	run(2, append([]string{"apt-get", "update", "--error-on=any"}, options...)...)
	run(2, append([]string{"apt-get", "download", "parcel"}, options...)...)
	if found, _ := filepath.Glob(filepath.Join(r.directory, "parcel*.deb")); len(found) != 1 {
		t.Errorf("apt-get download fetched %v", found)
	}
}

// gitServer offers a repository of one file.
func (r *realm) gitServer(at netns.Node) {
	r.t.Helper()
	base := r.t.TempDir()
	script := `git init -q project && cd project && echo content >file && git add file &&
git -c user.name=n -c user.email=e@example.org commit -q -m first`
	command := exec.Command("sh", "-c", script)
	command.Dir = base
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("git: %v: %s", err, out)
	}
	server := at.Command(context.Background(), "git", "daemon", "--export-all", "--base-path="+base, "--listen="+at.IP.String(), "--reuseaddr", base)
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, 10*time.Second, "git-daemon listens", func() bool { return connects(at, netip.AddrPortFrom(at.IP, 9418)) == nil })
}

// packageServer offers an archive of one package.
func (r *realm) packageServer(at netns.Node) {
	r.t.Helper()
	base := r.t.TempDir()
	control := "Package: parcel\nVersion: 1\nArchitecture: all\nMaintainer: Nobody <nobody@foo.example>\nDescription: a test\n"
	tree := filepath.Join(base, "tree", "DEBIAN")
	if err := os.MkdirAll(tree, 0o755); err != nil { //nolint:gosec // dpkg-deb asks for that
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "control"), []byte(control), 0o600); err != nil {
		r.t.Fatal(err)
	}
	parcel := filepath.Join(base, "parcel.deb")
	if out, err := exec.Command("dpkg-deb", "--build", filepath.Dir(tree), parcel).CombinedOutput(); err != nil {
		r.t.Fatalf("dpkg-deb: %v: %s", err, out)
	}
	content, err := os.ReadFile(parcel)
	if err != nil {
		r.t.Fatal(err)
	}
	entry := fmt.Sprintf("%sFilename: ./parcel.deb\nSize: %d\nSHA256: %x\n\n", control, len(content), sha256.Sum256(content))
	if err := os.WriteFile(filepath.Join(base, "Packages"), []byte(entry), 0o600); err != nil {
		r.t.Fatal(err)
	}
	fileServer(r.t, at, 8080, base)
}

// mailServer takes letters by SMTP, and speaks first.
func mailServer(t *testing.T, at netns.Node) <-chan string {
	t.Helper()
	letters := make(chan string, 8)
	accepts(t, at, 2525, func(c net.Conn) { takeLetter(c, letters) })
	return letters
}

func takeLetter(c net.Conn, letters chan<- string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(c, "220 mail.foo.example\r\n")
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		switch strings.ToUpper(lines.Text()) {
		case "DATA":
			fmt.Fprint(c, "354 go on\r\n")
			var letter strings.Builder
			for lines.Scan() && lines.Text() != "." {
				letter.WriteString(lines.Text() + "\n")
			}
			letters <- letter.String()
			fmt.Fprint(c, "250 taken\r\n")
		case "QUIT":
			fmt.Fprint(c, "221 bye\r\n")
			return
		default:
			fmt.Fprint(c, "250 ok\r\n")
		}
	}
}
