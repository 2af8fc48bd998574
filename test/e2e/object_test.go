package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// makeFunction builds a function beside the configuration, as the example's README says.
func (r *realm) makeFunction(name, source string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.directory, name+".bpf.o"), nftest.Compile(r.t, source), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// The example of a user's own function is built and put into force, and judges every
// packet; one that does not fit is refused by check and by a reload, which changes nothing.
func TestExampleFunction(t *testing.T) {
	t.Parallel()
	const name = "only_small_pings"
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	source, err := os.ReadFile("../../examples/network-function/" + name + ".bpf.c")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/network-function/realmgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, chains, _ := strings.Cut(string(example), "\nchains:\n")
	r.makeFunction(name, string(source))
	d := r.start(r.configuration() + "chains:\n" + chains)
	small, large := 92, 1000 // bytes of ICMP
	try := func(when string) {
		t.Helper()
		for _, c := range []struct {
			size   int
			passes bool
		}{{small, true}, {large, false}, {small, true}} {
			if err := pingOf(r.Hosts()[0], r.Servers[0].IP, c.size); (err == nil) != c.passes {
				t.Errorf("%s: a ping of %d bytes: %v", when, c.size, err)
			}
		}
	}
	try("with the example")
	f := d.functions("pings")[0]
	if f.Name != "only-small-pings" || f.Use != "./"+name+".bpf.o" || f.Seen != 5 || f.Dropped != 1 {
		t.Errorf("what it did: %+v, want 5 packets seen and 1 dropped", f)
	}
	for _, c := range []struct{ source, check, reload string }{
		{strings.Replace(string(source), "return NF_CONTINUE;", "bpf_xdp_store_bytes(ctx, 0, &too_long, 1);\nreturn NF_CONTINUE;", 1),
			"it changes the packet, which takes access: rewrite, at it.bpf.c:", "it changes the packet"},
		{strings.Replace(string(source), "return NF_CONTINUE;", "return *(char *)(long)ctx->data;", 1),
			"ok (1 host", "the kernel's verifier refuses it: R1 offset is outside of the packet at return *(char *)(long)ctx->data; @ it.bpf.c:"},
	} {
		r.makeFunction(name, c.source)
		if out, _ := exec.Command(program, "check", "-c", d.config).CombinedOutput(); !strings.Contains(string(out), c.check) {
			t.Errorf("check said %s, want %s", out, c.check)
		}
		if out, err := d.tell("reload"); err == nil || !strings.Contains(out, c.reload) {
			t.Errorf("reload: %v: %s, want %s", err, out, c.reload)
		}
		try("after a reload that was refused")
	}
}
