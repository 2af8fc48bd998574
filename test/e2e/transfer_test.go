package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// transferred is what one transfer came to.
type transferred struct {
	octets int64         // that arrived, and were the right ones
	took   time.Duration // from the first octet of the request
	rtt    time.Duration // the least that the host has seen, TCP_INFO's
	// reordered is how often the client has found, in an upload, that its segments came in another order.
	reordered uint32
}

// goodput is in octets a second.
func (t transferred) goodput() float64 { return float64(t.octets) / t.took.Seconds() }

// transferWay says who sends the most.
type transferWay string

const (
	download transferWay = "download"
	upload   transferWay = "upload"
)

// transferJob is what client and host, which are in one process, agree on.
type transferJob struct {
	way    transferWay
	octets int64
	time   time.Duration
	asks   int                // exchanges before it
	sum    []byte             // of what the host got
	got    int64              //
	rtt    chan time.Duration // closed without one
}

// dialer is a node, or a TCP of another make.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// couriers are the hosts' side of transfers.
type couriers struct {
	// control is the congestion control at both ends, that of the machine without it. Those that it does not allow to everybody
	// can only be had for each socket.
	control string
	// exchanges are held before each transfer, on its connection.
	exchanges int
	jobs      sync.Map // number → *transferJob
	last      atomic.Int64
}

// stream is the same random octets each time.
func stream() io.Reader { return rand.NewChaCha8([32]byte{19}) }

// serve is a host's connection: which job it is of says the request.
func (k *couriers) serve(c net.Conn) {
	defer c.Close()
	buffered := bufio.NewReader(c)
	var number int64
	for first := true; ; first = false {
		line, err := buffered.ReadString('\n')
		if err != nil {
			return
		}
		if first {
			_, _ = fmt.Sscanf(line, "GET /%d ", &number)
		}
		if strings.TrimSpace(line) == "" {
			break
		}
	}
	found, known := k.jobs.Load(number)
	if !known {
		return
	}
	job := found.(*transferJob)
	defer close(job.rtt)
	if err := k.controls(c); err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(exchangesWithin))
	if err := answerExchanges(buffered, c, job.asks); err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	switch job.way {
	case download:
		_ = c.SetWriteDeadline(time.Now().Add(job.time + 30*time.Second)) // its client ends it
		_, _ = io.CopyN(c, stream(), job.octets)
	case upload:
		sum := sha256.New()
		job.got = arrives(c, buffered, sum, job)
		job.sum = sum.Sum(nil)
		_, _ = io.WriteString(c, "done")
	}
	job.rtt <- leastRTT(c)
	// Until the other end has all, and ends it.
	_ = c.SetReadDeadline(time.Now().Add(job.time + 30*time.Second))
	if half, can := c.(interface{ CloseWrite() error }); can && job.way == download {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, buffered)
}

// arrives reads as many octets as are wanted, or for as long, and returns how many came.
func arrives(c net.Conn, from io.Reader, sum hash.Hash, job *transferJob) int64 {
	_ = c.SetReadDeadline(time.Now().Add(job.time))
	n, err := io.CopyN(sum, from, job.octets)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return -n // it broke
	}
	return n
}

// onSocket does something to a connection's socket, unless it is not the kernel's.
func onSocket(c net.Conn, do func(fd int) error) (err error) {
	ours, isKernels := c.(*net.TCPConn)
	if !isKernels {
		return nil
	}
	raw, err := ours.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) { err = do(int(fd)) })
	return errors.Join(failed, err)
}

func (k *couriers) controls(c net.Conn) error {
	if k.control == "" {
		return nil
	}
	return onSocket(c, func(fd int) error {
		return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, k.control)
	})
}

// tcpInfo is what the kernel knows of a connection, nil where it is not the kernel's.
func tcpInfo(c net.Conn) (info *unix.TCPInfo) {
	_ = onSocket(c, func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	return info
}

// leastRTT is TCP_INFO's of a connection, 0 where it is not known.
func leastRTT(c net.Conn) time.Duration {
	info := tcpInfo(c)
	if info == nil || info.Min_rtt == math.MaxUint32 {
		return 0
	}
	return time.Duration(info.Min_rtt) * time.Microsecond
}

// abort ends a connection by RST, where its TCP lets us.
func abort(c net.Conn) {
	if l, can := c.(interface{ SetLinger(seconds int) error }); can {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}

// transfer moves octets between a client and the first host, for so long at most, and wants them to be the right ones.
func (k *couriers) transfer(from dialer, to netip.AddrPort, way transferWay, octets int64, most time.Duration) (t transferred, err error) {
	job := &transferJob{way: way, octets: octets, time: most, asks: k.exchanges, rtt: make(chan time.Duration, 1)}
	number := k.last.Add(1)
	k.jobs.Store(number, job)
	defer k.jobs.Delete(number)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := from.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return t, err
	}
	defer c.Close()
	if err := k.controls(c); err != nil {
		return t, err
	}
	began := time.Now()
	if _, err := fmt.Fprintf(c, "GET /%d HTTP/1.1\r\nHost: www.%s\r\n\r\n", number, strings.TrimSuffix(hostName(0), ".")); err != nil {
		return t, err
	}
	_ = c.SetDeadline(began.Add(exchangesWithin))
	paused, err := exchange(c, k.exchanges)
	if err != nil {
		return t, err
	}
	_ = c.SetDeadline(time.Time{})
	began = began.Add(paused) // they are no part of the transfer
	var sum []byte
	switch way {
	case download:
		h := sha256.New()
		t.octets = arrives(c, c, h, job)
		t.took, sum = time.Since(began), h.Sum(nil)
		abort(c) // and the host's ends, too
	case upload:
		_ = c.SetDeadline(began.Add(most + 30*time.Second))
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.CopyN(c, stream(), octets)
		}()
		_, err = io.ReadFull(c, make([]byte, 4)) // when the host has enough
		t.took = time.Since(began)
		if info := tcpInfo(c); info != nil {
			t.reordered = info.Reord_seen
		}
		abort(c)
		<-sent
		if err != nil {
			return t, fmt.Errorf("the host's answer: %w", err)
		}
	}
	rtt, seen := <-job.rtt
	for range job.rtt { //nolint:revive // until it is closed
	}
	if way == upload {
		t.octets, sum = job.got, job.sum
	}
	t.rtt = rtt
	if !seen || t.octets <= 0 {
		return t, fmt.Errorf("it broke after %d octets", -t.octets)
	}
	want := sha256.New()
	if _, err := io.CopyN(want, stream(), t.octets); err != nil {
		return t, err
	}
	if !bytes.Equal(sum, want.Sum(nil)) {
		return t, fmt.Errorf("what arrived, %d octets, is not what was sent", t.octets)
	}
	return t, nil
}

// plainPlace leads to the same host by dnat alone: what transfers by name are held against.
func (r *realm) plainPlace() netip.AddrPort { return netip.AddrPortFrom(r.Gateway.Outbound, 8000) }

var webPlace = netip.AddrPortFrom(webAddress, 80)

// delivers starts a gateway whose first host takes transfers, by name and by dnat.
func (r *realm) delivers(more ...string) *couriers {
	r.t.Helper()
	k := new(couriers)
	accepts(r.t, r.Hosts()[0], 8080, k.serve)
	r.leadsToTransfers(more...)
	return k
}

// leadsToTransfers starts the gateway.
func (r *realm) leadsToTransfers(more ...string) *daemon {
	r.t.Helper()
	chains := "chains:\n" + dnatTo("plain", fmt.Sprintf("to: %s, protocol: tcp, port: 8000", r.Gateway.Outbound), r.Hosts()[0].IP.String()+", port: 8080")
	return r.start(with(r.configuration(), append(more, "web: {addresses: ["+webAddress.String()+"]}")...) + chains)
}

// isAsked waits until it is known what the first host can, and returns that.
func (d *daemon) isAsked() (h api.WebHost) {
	d.t.Helper()
	eventually(d.t, 20*time.Second, "the host is asked", func() bool {
		hosts := list[[]api.WebHost](d, "web")
		if len(hosts) == 1 {
			h = hosts[0]
		}
		return h.State == api.WebAsked
	})
	return h
}

// at runs a program at a node.
func (r *realm) at(node netns.Node, program string, arguments ...string) {
	r.t.Helper()
	if out, err := node.Command(r.t.Context(), program, arguments...).CombinedOutput(); err != nil {
		r.t.Fatalf("%s %v: %v: %s", program, arguments, err, out)
	}
}

// tuned sets what decides about TCP in a node's namespace, for connections from now on.
func (r *realm) tuned(at netns.Node, settings map[string]string) {
	r.t.Helper()
	for key, value := range settings {
		if err := at.SetSysctl("net/ipv4/"+key, value); err != nil {
			r.t.Fatal(err)
		}
	}
}
