package packages

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/test/lab"
)

const version = "1.0.0" // of the packages that tests share

// sources copies what git tracks or would add to a folder of that name, without Git's own, and with the dates of today.
func sources(name string) (string, error) {
	folder := filepath.Join(work, name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	copied := exec.Command("sh", "-c", `git -c safe.directory='*' ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x --touch -C "$0"`, folder) //nolint:gosec // a folder
	copied.Dir = "../.."
	_, err := copied.Output()
	return folder, err
}

// made is a folder of packages.
type made struct {
	dist, said string
	took       time.Duration
	err        error
}

// build makes the packages of a version in a folder with the sources. more is for its environment.
func build(folder, version string, more ...string) made {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	script := exec.CommandContext(ctx, filepath.Join(folder, "tools/packages.sh")) //nolint:gosec // the copy's own
	script.Env = append(os.Environ(), "VERSION="+version, "SOURCE_DATE_EPOCH=1700000000")
	script.Env = append(script.Env, more...)
	start := time.Now()
	out, err := script.CombinedOutput()
	return made{filepath.Join(folder, "dist"), string(out), time.Since(start), err}
}

var shared = sync.OnceValue(func() made {
	folder, err := sources("shared")
	if err != nil {
		return made{err: err}
	}
	key := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", signingKey()) //nolint:gosec // the test's own
	if err := key.Run(); err != nil {
		return made{err: err}
	}
	return build(folder, version, "SIGNING_KEY="+signingKey())
})

// signingKey is what the packages that tests share are signed by.
func signingKey() string { return filepath.Join(work, "key") }

// built is the path of a package that tests share: one whose name matches.
func built(t *testing.T, pattern string) string {
	t.Helper()
	m := shared()
	if m.err != nil {
		t.Fatalf("%v\n%s", m.err, m.said)
	}
	found, err := filepath.Glob(filepath.Join(m.dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// Packages depend on what they are built from and nothing else: those of two folders, at two times, are the same.
func TestPackagesAreReproducible(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	sums, err := os.ReadFile(built(t, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Count(string(sums), "\n"); names != 7 {
		t.Errorf("%d files, want deb, rpm and bill of two architectures, and an image:\n%s", names, sums)
	}
	folder, err := sources("another folder")
	if err != nil {
		t.Fatal(err)
	}
	again := build(folder, version)
	if again.err != nil {
		t.Fatalf("%v\n%s", again.err, again.said)
	}
	t.Logf("%5.1f s  the packages", shared().took.Seconds())
	t.Logf("%5.1f s  those of another folder", again.took.Seconds())
	if _, err := os.Stat(filepath.Join(again.dist, "SHA256SUMS.sig")); err == nil || !strings.Contains(again.said, "SHA256SUMS is not signed") {
		t.Errorf("signed without a key, or nothing is said of it: %v\n%s", err, again.said)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", filepath.Join(filepath.Dir(built(t, "*_amd64.deb")), "SHA256SUMS"))
	check.Dir = again.dist
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Debian's own checker has nothing to say; what it is told to overlook has a reason.
func TestLintian(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	for _, architecture := range []string{"amd64", "arm64"} {
		t.Run(architecture, func(t *testing.T) {
			t.Parallel()
			lintian := exec.CommandContext(t.Context(), "lintian", "--fail-on", "error,warning", "--allow-root", built(t, "*_"+architecture+".deb")) //nolint:gosec // as above
			if out, err := lintian.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	text, err := os.ReadFile("../../packages/realmgate.lintian-overrides")
	if err != nil {
		t.Fatal(err)
	}
	reason := false
	for line := range strings.Lines(string(text)) {
		if override := !strings.HasPrefix(line, "#"); override && !reason {
			t.Errorf("without a reason above it: %s", line)
		}
		reason = strings.HasPrefix(line, "#")
	}
}

// The bill of materials lists each module that the program says it is made of, with its version, and no other; each has its
// licence in the package.
func TestBillListsEveryModule(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--extract", built(t, "*_amd64.deb"), folder).CombinedOutput(); err != nil { //nolint:gosec // as above
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(filepath.Join(folder, "usr/bin/realmgate"))
	if err != nil {
		t.Fatal(err)
	}
	notices, err := exec.CommandContext(t.Context(), "zcat", filepath.Join(folder, "usr/share/doc/realmgate/third-party-notices.gz")).Output() //nolint:gosec // the package's own
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"std " + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want = append(want, m.Path+" "+m.Version)
		if !strings.Contains(string(notices), "==== "+m.Path+" "+m.Version+", ") {
			t.Errorf("the licence of %s is not told", m.Path)
		}
	}
	scripts, err := os.ReadFile("../../internal/page/assets/vendored/LIST")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(scripts)) {
		fields := strings.Split(line, "  ")
		name, version, _ := strings.Cut(fields[2], " ")
		want = append(want, name+"/"+fields[1]+" "+version)
		if !strings.Contains(string(notices), "==== "+name+".LICENSE.txt") {
			t.Errorf("the licence of %s is not told", name)
		}
	}
	text, err := os.ReadFile(built(t, "*_amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		Format     string `json:"bomFormat"`
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text, &bill); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range bill.Components {
		got = append(got, c.Name+" "+c.Version)
		script, _, isScript := strings.Cut(c.Name, "/")
		isScript = isScript && c.Purl == "pkg:npm/"+script+"@"+c.Version
		if c.Purl != "pkg:golang/"+c.Name+"@"+c.Version && !isScript {
			t.Errorf("%s %s has the URL %s", c.Name, c.Version, c.Purl)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if bill.Format != "CycloneDX" || len(want) < 10 || !slices.Equal(got, want) {
		t.Errorf("a bill in %s of\n%q, the program is made of\n%q", bill.Format, got, want)
	}
}
