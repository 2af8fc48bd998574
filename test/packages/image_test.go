package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// skopeo runs Debian's.
func skopeo(t *testing.T, arguments ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "skopeo", arguments...).Output() //nolint:gosec // the test's own
	if err != nil {
		t.Fatalf("skopeo %v: %v\n%s", arguments, err, out)
	}
	return out
}

// The image is one that others' programs read, of both architectures, and its layer serves names: in a namespace, with no other
// root than the layer.
func TestImageServesANameByItsLayerAlone(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	archive := "oci-archive:" + built(t, "*.oci.tar")
	for _, architecture := range []string{"amd64", "arm64"} {
		var image struct {
			Architecture string
			Labels       map[string]string
			Layers       []string
		}
		if err := json.Unmarshal(skopeo(t, "inspect", "--override-arch", architecture, archive), &image); err != nil {
			t.Fatal(err)
		}
		if image.Architecture != architecture || image.Labels["org.opencontainers.image.version"] != version || len(image.Layers) != 1 {
			t.Errorf("%s: %+v", architecture, image)
		}
	}

	folder := t.TempDir()
	skopeo(t, "copy", "--quiet", archive, "dir:"+folder)
	var manifest struct{ Layers []struct{ Digest string } }
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &manifest); err != nil || len(manifest.Layers) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	root := filepath.Join(folder, "root")
	unpacked := `mkdir "$0" && tar -xzf "$1" -C "$0" && mkdir "$0/proc" "$0/dev"` // as those who run images make them
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", unpacked, root, filepath.Join(folder, strings.TrimPrefix(manifest.Layers[0].Digest, "sha256:"))).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	r := lab.NewRealm(t, netns.Options{Prefix: "image", Hosts: 1, Clients: 1})
	g := r.Gateway
	configuration := fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: %s, private: %s}
pool: {addresses: [%s]}
hosts:
  - {name: hosta.foo.example., address: %s, open: [tcp/80]}
`, g.Public[0], g.Private[0], g.PublicAddress, g.PrivateAddress, g.Pool, g.Hosts[0].IP)
	if err := os.WriteFile(filepath.Join(root, "etc/realmgate.yaml"), []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := `mount --rbind /sys "$0/sys" && mount --bind /proc "$0/proc" && exec chroot "$0" "$@"`
	command := g.Command(context.Background(), "unshare", "--mount", "--propagation", "private", "sh", "-c", begin, root,
		"/usr/bin/realmgate", "run", "-c", "/etc/realmgate.yaml", "--instance", r.ID())
	journal, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	command.Stdout, command.Stderr = journal, journal
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	var said []byte
	served := false
	for end := time.Now().Add(30 * time.Second); !served && time.Now().Before(end); {
		dig := r.Clients[0].Command(t.Context(), "dig", "+short", "+tcp", "+tries=1", "+time=1", "@"+g.PublicAddress.String(), "hosta.foo.example.")
		said, _ = dig.CombinedOutput()
		served = strings.HasPrefix(string(said), "198.18.0.")
	}
	_ = command.Process.Signal(os.Interrupt)
	select {
	case err = <-ended:
	case <-time.After(20 * time.Second):
		_ = command.Process.Kill()
		err = <-ended
	}
	if text, _ := os.ReadFile(journal.Name()); !served || err != nil {
		t.Errorf("it said %q, and ended with %v:\n%s", said, err, text)
	}
}

// Who has the public key knows that nobody has changed a file since.
func TestSumsAreSigned(t *testing.T) {
	lab.LengthyOnly(t)
	sums, err := os.ReadFile(built(t, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile(signingKey() + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, []byte("releases@example.net "+string(public)), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := func(text string) error {
		verify := exec.CommandContext(t.Context(), "ssh-keygen", "-Y", "verify", "-n", "file", "-f", signers, "-I", "releases@example.net", "-s", built(t, "SHA256SUMS.sig")) //nolint:gosec // the test's own
		verify.Stdin = strings.NewReader(text)
		return verify.Run()
	}
	if err := verify(string(sums)); err != nil {
		t.Errorf("what was signed: %v", err)
	}
	flipped := []byte(string(sums))
	flipped[0] ^= 1
	if err := verify(string(flipped)); err == nil {
		t.Error("a flipped bit is not noticed")
	}
}
