package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// listedHosts writes a file of n hosts, named h0, h1, … from 10.64.0.0 on.
func (r *realm) listedHosts(n int) (file string) {
	r.t.Helper()
	file = filepath.Join(r.directory, fmt.Sprintf("%d.hosts", n))
	f, err := os.Create(file)
	if err != nil {
		r.t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, "h%d %s\n", i, listedAddress(i))
	}
	if err := w.Flush(); err != nil {
		r.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		r.t.Fatal(err)
	}
	return file
}

func listedAddress(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(64 + i>>16), byte(i >> 8), byte(i)})
}

// listed is a configuration with hosts of a file beside those that it has.
func (r *realm) listed(g *netns.Gateway, file string) string {
	return with(configurationOf(g), "dynamic: [{zone: foo.example., file: "+file+", prefixes: [10.64.0.0/12], services: [{ports: [tcp/80]}]}]")
}

// memory is what a process has in memory, in octets.
func memory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "VmRSS:" {
			kilo, _ := strconv.Atoi(words[1])
			return kilo << 10
		}
	}
	t.Fatal("it has none")
	return 0
}

// A million hosts of a file: they are there soon after a start, and names are answered as fast as with a hundred. A line more is
// one host more, without a reload.
func TestMillionHosts(t *testing.T) {
	lab.LengthyOnly(t)
	const few, many = 100, 999_999 // and one more
	r := newRealm(t, netns.Options{Hosts: 1, Gateways: 2, RemoteClients: 1})
	small := r.startAt(r.Gateways[0], r.ID()+"-few", r.listed(r.Gateways[0], r.listedHosts(few)))
	file := r.listedHosts(many)
	big := r.prepare(r.Gateways[1], r.ID()+"-many", r.listed(r.Gateways[1], file))
	began := time.Now()
	big.launchWithin(10*time.Minute, big.gateway.Command(context.Background(), program, "run", "-c", big.config, "--instance", big.instance))
	user := processorTime(t, big.command.Process.Pid)
	t.Logf("with %d hosts it serves after %s, of which it computed for %s", many, time.Since(began).Round(10*time.Millisecond), user)
	if user > 20*time.Second { // a machine with nothing else to do serves sooner, on two processors
		t.Errorf("it computed for %s", user)
	}
	for _, d := range []*daemon{small, big} {
		t.Logf("with %d hosts the daemon has %d MiB, tables %d MiB", d.status().Registered.Used, memory(t, d.command.Process.Pid)>>20, d.status().Bytes>>20)
	}
	if n := big.status().Registered.Used; n != many {
		t.Fatalf("%d hosts", n)
	}
	began = time.Now()
	if out, err := big.tell("reload"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("a reload takes %s", time.Since(began).Round(time.Millisecond))
	within(t, "inside", func(which, n int) time.Duration {
		g, hosts := r.Gateways[which], []int{few, many}[which]
		return answerTime(t, g.Hosts[0], "udp", g.PrivateAddress, n, func() string { return fmt.Sprintf("h%d.foo.example.", rand.IntN(hosts)) })
	})
	within(t, "outside", func(which, n int) time.Duration {
		g := r.Gateways[which]
		return answerTime(t, r.RemoteClients[0], "tcp", g.PublicAddress, n, func() string { return "h7.foo.example." })
	})
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	began, user = time.Now(), processorTime(t, big.command.Process.Pid)
	_, err = f.WriteString("new 10.79.255.254\n")
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Minute, "a line more is a host more", func() bool {
		answer, err := ask(r.Gateways[1].Hosts[0], "udp", r.Gateways[1].PrivateAddress, "new.foo.example.", dns.TypeA)
		return err == nil && len(answer.Answer) == 1
	})
	t.Logf("a line more is answered after %s, of which the daemon computed for %s", time.Since(began).Round(10*time.Millisecond), processorTime(t, big.command.Process.Pid)-user)
}

// processorTime is how long a process has computed.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))
	user, _ := strconv.Atoi(words[13])
	system, _ := strconv.Atoi(words[14])
	return time.Duration(user+system) * time.Second / 100
}

// within has both gateways answer by turns, and fails where the second was slower by more than a tenth in every round.
func within(t *testing.T, side string, answers func(which, n int) time.Duration) {
	t.Helper()
	const rounds, each = 15, 400
	answers(0, each)
	answers(1, each)
	var ratios []float64
	var times [2][]time.Duration
	for range rounds {
		few, many := answers(0, each), answers(1, each)
		times[0], times[1] = append(times[0], few), append(times[1], many)
		ratios = append(ratios, float64(many)/float64(few))
	}
	slices.Sort(ratios)
	slices.Sort(times[0])
	slices.Sort(times[1])
	t.Logf("%s: an answer takes %s with few and %s with many hosts (medians of %d rounds); ratio %.3f (%.3f–%.3f)", side, times[0][rounds/2], times[1][rounds/2], rounds,
		ratios[rounds/2], ratios[0], ratios[rounds-1])
	if ratios[0] > 1.1 {
		t.Errorf("%s: the ratio is %.3f at best", side, ratios[0])
	}
}

// answerTime is the median time of n answers.
func answerTime(t *testing.T, from netns.Node, network string, server netip.Addr, n int, name func() string) time.Duration {
	t.Helper()
	connection, err := from.DialContext(t.Context(), network, netip.AddrPortFrom(server, 53).String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client, conn := dns.Client{Net: network, Timeout: 8 * time.Second}, &dns.Conn{Conn: connection}
	times := make([]time.Duration, n)
	for i := range times {
		m := new(dns.Msg).SetQuestion(name(), dns.TypeA)
		began := time.Now()
		answer, _, err := client.ExchangeWithConn(m, conn)
		times[i] = time.Since(began)
		if err != nil || len(answer.Answer) != 1 {
			t.Fatalf("%v, %v", answer, err)
		}
	}
	slices.Sort(times)
	return times[n/2]
}
