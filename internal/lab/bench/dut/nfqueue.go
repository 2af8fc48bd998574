package dut

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

var nfqueue = bench.Model{
	Name:  "nfqueue",
	About: "iptables (legacy), and a program that decides about each new connection (NFQUEUE and connmark, as ipt_geofence)",
	Tools: []string{"iptables-legacy-restore"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &nfqueueDevice{} },

	Asynchronous:  true,
	PassesInvalid: true,
}

// nfqueueEach asks about each packet.
var nfqueueEach = bench.Model{
	Name: "nfqueue-each", About: "iptables (legacy), and a program that decides about each packet (NFQUEUE)",
	Tools: nfqueue.Tools, Bytes: nfqueue.Bytes, Asynchronous: true, PassesInvalid: true,
	New: func() bench.Device { return &nfqueueDevice{each: true} },
}

// nfqueueDevice asks queueClients about the first packets of a connection; what
// they decide is the connection's mark, and the kernel keeps to it from then on.
type nfqueueDevice struct {
	netfilter
	clients []*queueClient
	each    bool // about each packet, whatever was decided about its connection
}

// Marks of connections.
const (
	markPass = 1
	markDrop = 2
)

// queueLength is the kernel's own (NFQNL_QMAX_DEFAULT).
const queueLength = 1024

func (d *nfqueueDevice) Up(ctx context.Context, rig *bench.Rig, setup bench.Setup) error {
	if setup.Mark || setup.NoTrack {
		return fmt.Errorf("%w: it marks all connections itself", bench.ErrUnsupported)
	}
	if err := d.forward(rig, setup); err != nil {
		return err
	}
	if err := d.track(); err != nil {
		return err
	}
	length := setup.Queue.Length
	if length == 0 {
		length = queueLength
	}
	for number := range max(1, setup.Queue.Count) {
		err := rig.Device.Do(func() error {
			client, err := openQueue(uint16(number), length, rig.CPU)
			if err == nil {
				d.clients = append(d.clients, client)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	asks := nfqueueRules(setup)
	if d.each {
		asks = []string{"-A PREROUTING -j NFQUEUE --queue-num 0"}
	}
	rules := append([]iptablesTable{{"mangle", asks}}, iptablesRules(setup, false)...)
	return d.run(ctx, iptablesText(rules), "iptables-legacy-restore")
}

// nfqueueRules asks about what has no mark yet.
func nfqueueRules(setup bench.Setup) []string {
	queue := "--queue-num 0"
	if n := setup.Queue.Count; n > 1 {
		queue = fmt.Sprintf("--queue-balance 0:%d", n-1)
		if setup.Queue.ByCPU {
			queue += " --queue-cpu-fanout"
		}
	}
	return []string{
		"-A PREROUTING -j CONNMARK --restore-mark",
		fmt.Sprintf("-A PREROUTING -m mark --mark %d -j ACCEPT", markPass),
		fmt.Sprintf("-A PREROUTING -m mark --mark %d -j DROP", markDrop),
		"-A PREROUTING -j NFQUEUE " + queue,
		"-A POSTROUTING -j CONNMARK --save-mark",
	}
}

// judge is the program's decision: all that is IPv4 passes. What a program does to
// find out more comes on top.
func judge(packet []byte) (mark uint32) {
	const leastHeader = 20
	if len(packet) < leastHeader || packet[0]>>4 != 4 {
		return markDrop
	}
	return markPass
}

// Decisions adds up all queues.
func (d *nfqueueDevice) Decisions() (all bench.Decisions, err error) {
	for _, c := range d.clients {
		spent, err := c.time()
		if err != nil {
			return all, err
		}
		waited, err := c.waited()
		if err != nil {
			return all, err
		}
		all.Time += spent
		all.Waited += waited
		all.Made += c.decided.Load()
		all.Overruns += c.overrun.Load()
	}
	err = d.rig.Device.Do(func() error {
		all.Waiting, all.QueueFull, all.SocketFull, err = queueCounters("/proc/thread-self/net/netfilter/nfnetlink_queue")
		return err
	})
	return all, err
}

// queueCounters reads how many packets wait, and what the kernel dropped since a
// queue, or the socket of its program, was full.
func queueCounters(path string) (waiting, queue, socket uint64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("read the packet queues' counters: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var number, program, length, mode, octets, full, unsent uint64
		n, _ := fmt.Sscan(strings.TrimSpace(lines.Text()), &number, &program, &length, &mode, &octets, &full, &unsent)
		if n != 7 {
			return 0, 0, 0, fmt.Errorf("read the packet queues' counters: %q is no line of them", lines.Text())
		}
		waiting += length
		queue += full
		socket += unsent
	}
	return waiting, queue, socket, nil
}

// Down ends the programs, and says why one ended by itself.
func (d *nfqueueDevice) Down() error {
	var failed error
	for _, c := range d.clients {
		failed = errors.Join(failed, c.close())
	}
	d.clients = nil
	return failed
}
