package dut

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// While the tester sends as fast as it can, chains change and the configuration is read:
// every frame arrives, and as it should. A change waits for the packets under way, of
// which there are always some: with -count=10 there are 500 of them and 50 reloads.
func TestNothingIsLostToChanges(t *testing.T) {
	const swaps, reloads = 50, 5
	setup := bench.Setup{NAT: trafficgen.Addresses{First: bench.PublicAddress.Addr().Next(), Count: 1}}
	measure(t, built(t), setup, func(ctx context.Context, bed *bench.Bed) error {
		d := bed.DUT.Device.(*builtDevice)
		const chains = "chains: [{name: bench, functions: [{use: filter, deny: [192.0.2.0/24]}]}]\n"
		if err := os.WriteFile(d.config, []byte(realmgateConfiguration(d.mode, d.setup, d.apart)+chains), 0o600); err != nil {
			return err
		}
		frames, err := sendWhile(ctx, bed, func() error { return change(ctx, d.client, swaps, reloads) })
		t.Logf("%d frames during %d changes of chains and %d reloads", frames, swaps, reloads)
		return err
	})
}

// sendWhile establishes all sessions anew, and sends by them as fast as the tester can while
// something is done. Every frame has to arrive.
func sendWhile(ctx context.Context, bed *bench.Bed, do func() error) (frames int, err error) {
	if err := bed.DUT.Reset(ctx); err != nil {
		return 0, err
	}
	if _, err := bed.Sessions.Establish(ctx, trafficgen.Plan{}); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	var doing sync.WaitGroup
	doing.Go(func() { done <- do() })
	defer doing.Wait()
	for {
		o, err := bed.Tester.Run(ctx, trafficgen.Plan{Frames: 1 << 20, Random: true, Direction: trafficgen.Both}, false)
		frames += int(o.Sent)
		if err != nil {
			return frames, err
		}
		select {
		case err := <-done:
			return frames, err
		default:
		}
	}
}

// A million blocked addresses and a geo table as large as real ones are loaded
// again and again, the half of them others each time: no frame is lost, and each is judged.
func TestNothingIsLostToAMillionBlocked(t *testing.T) {
	const reloads = 4
	setup := bench.Setup{NAT: trafficgen.Addresses{First: bench.PublicAddress.Addr().Next(), Count: 1}, Blocked: 1_000_000}
	measure(t, built(t), setup, func(ctx context.Context, bed *bench.Bed) error {
		d := bed.DUT.Device.(*builtDevice)
		list := filepath.Join(d.rig.Directory, d.rig.Instance+".blocked")
		all, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		half := all[:len(all)/2+bytes.IndexByte(all[len(all)/2:], '\n')+1]
		var took []time.Duration
		frames, err := sendWhile(ctx, bed, func() error {
			for n := range reloads {
				if err := os.WriteFile(list, [][]byte{half, all}[n%2], 0o600); err != nil {
					return err
				}
				began := time.Now()
				if _, err := d.client.ConfigEditor().Reload(ctx); err != nil {
					return err
				}
				took = append(took, time.Since(began).Round(time.Millisecond))
			}
			return nil
		})
		t.Logf("%d frames during reloads that took %v", frames, took)
		return err
	})
}

// builtDevice runs a program that the test has built.
type builtDevice struct {
	realmgateDevice
	program string
}

func (d *builtDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	rig.Executable = d.program
	return d.realmgateDevice.Up(ctx, rig, setup)
}

func built(t *testing.T) bench.Model {
	t.Helper()
	program := filepath.Join(t.TempDir(), "realmgate")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "../../../../cmd/realmgate").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v: %s", err, out)
	}
	m := realmgate
	m.New = func() bench.Device {
		return &builtDevice{realmgateDevice: realmgateDevice{mode: "xdp"}, program: program}
	}
	return m
}

// change takes a function into a chain and out of it, and reads the file in between.
func change(ctx context.Context, c *client.Client, swaps, reloads int) error {
	if _, err := c.ConfigEditor().Reload(ctx); err != nil {
		return err
	}
	for n := range swaps {
		var err error
		if n%2 == 0 {
			_, err = c.ChainEditor().Insert(ctx, client.ChainRequest{Chain: "bench", Function: fmt.Sprintf("{use: filter, name: more, deny: [198.51.100.%d]}", n/2%250)})
		} else {
			_, err = c.ChainEditor().Remove(ctx, client.ChainRequest{Chain: "bench", Function: "more"})
		}
		if n%(swaps/reloads) == 1 && err == nil {
			_, err = c.ConfigEditor().Reload(ctx)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("change %d", n), err)
		}
	}
	return nil
}
