package dut

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// realmgateAsk has a program that decides about each session by its first packet.
var realmgateAsk = bench.Model{
	Name: "realmgate-ask", About: "this program with a chain of a function ask: a program decides about each new session",
	Held: realmgate.Held, Translates: true, Bytes: realmgate.Bytes,
	New: func() bench.Device { return &askDevice{realmgateDevice: realmgateDevice{mode: "xdp"}} },

	Asynchronous: true,
}

// askDevice is a gateway and the program that it asks, which has another CPU as that of nfqueue has.
type askDevice struct {
	realmgateDevice
	listener net.Listener
	serving  sync.WaitGroup
}

func (d *askDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) (err error) {
	socket := filepath.Join(rig.Directory, rig.Instance+".ask")
	if d.listener, err = net.Listen("unix", socket); err != nil {
		return fmt.Errorf("listen as the program that is asked: %w", err)
	}
	called := make(chan struct{})
	d.serving.Go(func() { d.serve(sync.OnceFunc(func() { close(called) })) })
	d.more = fmt.Sprintf("chains: [{name: all, functions: [{use: ask, socket: %s}]}]\n", socket)
	if err := d.realmgateDevice.Up(ctx, rig, setup); err != nil {
		return err
	}
	select {
	case <-called:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startWithin):
		return errors.New("the gateway does not call the program that it is to ask")
	}
}

// serve lets all pass. What a program does to find out more comes on top.
func (d *askDevice) serve(called func()) {
	for {
		gateway, err := d.listener.Accept()
		if err != nil {
			return // it is closed
		}
		called()
		d.serving.Go(func() {
			defer gateway.Close()
			questions, answers := json.NewDecoder(gateway), json.NewEncoder(gateway)
			for {
				var q struct {
					ID   uint64 `json:"id"`
					Data []byte `json:"data"`
				}
				if questions.Decode(&q) != nil {
					return // the gateway has ended
				}
				said := map[uint32]string{markPass: "accept", markDrop: "drop"}[judge(q.Data)]
				if answers.Encode(map[string]any{"id": q.ID, "verdict": said}) != nil {
					return
				}
			}
		})
	}
}

func (d *askDevice) Down() error {
	err := d.realmgateDevice.Down()
	if d.listener != nil {
		_ = d.listener.Close()
		d.serving.Wait()
	}
	return err
}
