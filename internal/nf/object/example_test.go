package object

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// The example of the guide needs the public header and nothing else of ours, and does what it says.
func TestExampleNeedsThePublicHeaderAlone(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	alone := t.TempDir()
	header, err := os.ReadFile("../../../bpf/nf/nf.h")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(alone, "nf.h"), header, 0o600); err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../../examples/network-function/only_small_pings.bpf.c")
	if err != nil {
		t.Fatal(err)
	}
	program := b.Only(Object{Code: nftest.CompileWith(t, alone, string(example)), EveryPacket: true})
	for length, want := range map[uint16]nf.Verdict{128: nf.Accept, 129: nf.Drop} {
		p := packetOf(length)
		p.Protocol = uint8(model.ICMP)
		if got := b.Ask(program, p).Verdict; got != want {
			t.Errorf("a ping of %d octets: %v, want %v", length, got, want)
		}
	}
}
