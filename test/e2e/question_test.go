package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/lab"
)

// forged are messages of a flood: mostly for lent names, some with server cookies that nobody gave
// or for static records, and some that are none.
func forged(t *testing.T) [][]byte {
	t.Helper()
	var all [][]byte
	for i := range 8 {
		m := new(dns.Msg).SetQuestion("www."+hostName(i%2), dns.TypeA)
		switch i {
		case 4:
			m.SetQuestion("foo.example.", dns.TypeSOA)
		case 5, 6:
			m.SetEdns0(1232, false).IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE,
				Cookie: fmt.Sprintf("%016x01000000%08x%016x", rand.Uint64(), time.Now().Unix(), rand.Uint64())}} //nolint:gosec // any will do
		}
		packed, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if i == 7 {
			packed = packed[:len(packed)-2]
		}
		all = append(all, packed)
	}
	return all
}

// questionFlood sends forged questions from sources of 203.0.0.0/8, which answers do not reach, as fast as
// one thread can, until the test ends. It returns how many it has sent, and its CPU time.
func (r *realm) questionFlood(from netns.Node) (sent, busy *atomic.Int64) {
	r.t.Helper()
	r.command("router", "ip", "route", "add", "blackhole", "203.0.0.0/8")
	frames, err := from.Frames("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	source, err := from.MAC("eth0")
	if err != nil {
		r.t.Fatal(err)
	}
	gateway, err := r.Gateway.MAC(r.Gateway.Public[0])
	if err != nil {
		r.t.Fatal(err)
	}
	messages := forged(r.t)
	batches := make([]*netns.Batch, 256)
	for i := range batches {
		batch := make([][]byte, 64)
		for k := range batch {
			var address [4]byte
			binary.BigEndian.PutUint32(address[:], 203<<24|rand.Uint32()>>8)                     //nolint:gosec // any will do
			asker := netip.AddrPortFrom(netip.AddrFrom4(address), uint16(1024+rand.IntN(60000))) //nolint:gosec // any will do
			message := slices.Clone(messages[k%len(messages)])
			binary.BigEndian.PutUint16(message, uint16(rand.Uint32())) //nolint:gosec // any will do
			batch[k] = packets.NewUDP(asker, netip.AddrPortFrom(r.Gateway.PublicAddress, 53), string(message)).
				Between(packets.MAC(source), packets.MAC(gateway)).Bytes()
		}
		batches[i] = frames.Batch(batch)
	}
	sent, busy = new(atomic.Int64), new(atomic.Int64)
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		runtime.LockOSThread() // its CPU time is the thread's
		for round := 0; ; round++ {
			select {
			case <-stop:
				return
			default:
			}
			n, err := batches[round%len(batches)].Send()
			if err != nil {
				r.t.Errorf("the flood ended: %v", err)
				return
			}
			sent.Add(int64(n))
			var usage unix.Rusage
			if unix.Getrusage(unix.RUSAGE_THREAD, &usage) == nil {
				busy.Store(usage.Utime.Nano() + usage.Stime.Nano())
			}
		}
	})
	r.t.Cleanup(func() {
		close(stop)
		running.Wait()
		_ = frames.Close()
	})
	return sent, busy
}

// busy is the CPU time of the daemon.
func (d *daemon) busy() time.Duration {
	d.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.command.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after) // from the third of proc(5)
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		d.t.Fatal(err)
	}
	return time.Duration(user+system) * time.Second / 100
}

// dug is what dig prints of a question to the gateway.
func (r *realm) dug(from netns.Node, arguments ...string) string {
	r.t.Helper()
	arguments = append([]string{"+time=5", "+tries=1", "@" + r.Gateway.PublicAddress.String()}, arguments...)
	out, err := from.Command(r.t.Context(), "dig", arguments...).CombinedOutput()
	if err != nil {
		r.t.Errorf("dig %v: %v: %s", arguments, err, out)
	}
	return string(out)
}

// learnt is a cookie that the gateway has given to a node over TCP.
func (r *realm) learnt(from netns.Node) string {
	r.t.Helper()
	out := r.dug(from, "+tcp", "www."+hostName(0))
	_, after, found := strings.Cut(out, "; COOKIE: ")
	cookie, _, _ := strings.Cut(after, " ")
	if !found || len(cookie) != 48 {
		r.t.Fatalf("no cookie in %s", out)
	}
	return cookie
}

// asks asks the gateway in this process, by UDP and, where it is told to, by TCP, as a resolver does.
func (r *realm) asks(from netns.Node, name string, qtype uint16) (*dns.Msg, error) {
	question := new(dns.Msg).SetQuestion(name, qtype)
	for _, network := range []string{"udp", "tcp"} {
		connection, err := from.DialFrom(r.t.Context(), network+"4", netip.AddrPort{}, r.Gateway.PublicAddress.String()+":53")
		if err != nil {
			return nil, err
		}
		client := dns.Client{Net: network, Timeout: 5 * time.Second}
		answer, _, err := client.ExchangeWithConn(question, &dns.Conn{Conn: connection})
		_ = connection.Close()
		if err != nil || !answer.Truncated {
			return answer, err
		}
	}
	return nil, errors.New("TC=1 over TCP")
}

// Forged questions, as many as one CPU sends, keep nobody away who asks for itself - by UDP and then TCP, by a
// cookie, for a lent name or a static record - lend nothing, and cost the daemon next to nothing.
func TestForgedQuestionsKeepNobodyAway(t *testing.T) {
	rounds := 50
	if lab.Lengthy() {
		rounds = 1000
	}
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 4})
	d := r.start(r.configuration())
	honest, cookied, quick := r.Clients[1], r.Clients[2], r.Clients[3]
	cookie := r.learnt(cookied)
	kinds := []struct {
		about string
		ask   func(round int) (answer, want string)
	}{
		{"dig, lent", func(round int) (string, string) { return r.dug(honest, "+short", "www."+hostName(round%2)), "198.18." }},
		{"dig, static", func(int) (string, string) { return r.dug(honest, "+short", "foo.example.", "SOA"), "ns.foo.example." }},
		{"dig with a cookie, lent", func(round int) (string, string) {
			return r.dug(cookied, "+short", "+ignore", "+cookie="+cookie, "www."+hostName(round%2)), "198.18."
		}},
		{"UDP, then TCP, lent", func(round int) (string, string) {
			answer, err := r.asks(quick, "www."+hostName(round%2), dns.TypeA)
			if err != nil {
				return err.Error(), ""
			}
			return first(answer), "198.18."
		}},
	}
	// all asks every kind so many times, and returns the CPU time that the daemon took.
	all := func(when string) time.Duration {
		before, lent := d.busy(), d.status().Lent
		took := make([][]time.Duration, len(kinds))
		var running sync.WaitGroup
		for i, kind := range kinds {
			running.Go(func() {
				for round := range rounds {
					at := time.Now()
					if answer, want := kind.ask(round); want == "" || !strings.HasPrefix(answer, want) {
						t.Errorf("%s, %s, round %d: %q", when, kind.about, round, answer)
					}
					took[i] = append(took[i], time.Since(at))
				}
			})
		}
		running.Wait()
		for i, times := range took {
			slices.Sort(times)
			t.Logf("%s, %s: median %.1f ms, 99 of 100 within %.1f ms", when, kinds[i].about, times[len(times)/2].Seconds()*1e3, times[len(times)*99/100].Seconds()*1e3)
		}
		if n := d.status().Lent - lent; n != uint64(3*rounds) {
			t.Errorf("%s: %d answers were lent to %d who asked for themselves", when, n, 3*rounds)
		}
		return d.busy() - before
	}
	calm := all("calm")
	sent, busy := r.questionFlood(r.Clients[0])
	eventually(t, 10*time.Second, "the flood has begun", func() bool { return sent.Load() > 10000 })
	told, began, before, sender := d.counted("answered_question"), time.Now(), sent.Load(), busy.Load()
	flooded := all("flooded")
	forgedSent, senderBusy := sent.Load()-before, time.Duration(busy.Load()-sender)
	t.Logf("%.0f forged questions a second, %.0f in a second of their sender's CPU time, of which it took %s; the daemon took %s, and %s before it",
		float64(forgedSent)/time.Since(began).Seconds(), float64(forgedSent)/senderBusy.Seconds(), senderBusy.Round(time.Millisecond), flooded, calm)
	if (flooded-calm)*4 > senderBusy {
		t.Errorf("the daemon took %s more while the sender took %s", flooded-calm, senderBusy)
	}
	if n := int64(d.counted("answered_question") - told); n < forgedSent/2 {
		t.Errorf("%d of %d were told to come by TCP", n, forgedSent)
	}
}

// When the daemon is dead nobody is told to come by TCP, where nobody would answer.
func TestDeadDaemonTellsNobodyToComeByTCP(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	d := r.start(r.configuration())
	ask := func() (answer *dns.Msg, err error) {
		connection, err := r.Clients[0].DialFrom(t.Context(), "udp4", netip.AddrPort{}, r.Gateway.PublicAddress.String()+":53")
		if err != nil {
			return nil, err
		}
		defer connection.Close()
		client := dns.Client{Timeout: time.Second}
		answer, _, err = client.ExchangeWithConn(new(dns.Msg).SetQuestion("www."+hostName(0), dns.TypeA), &dns.Conn{Conn: connection})
		return answer, err
	}
	if answer, err := ask(); err != nil || !answer.Truncated {
		t.Fatal(answer, err)
	}
	if d.counted("answered_question") == 0 {
		t.Error("the daemon was asked itself")
	}
	d.kill()
	eventually(t, 20*time.Second, "the kernel says that nobody is there", func() bool {
		_, err := ask()
		return refused(err)
	})
	d.run()
	eventually(t, 10*time.Second, "the next daemon's questions are answered", func() bool {
		answer, err := ask()
		return err == nil && answer.Truncated
	})
}
