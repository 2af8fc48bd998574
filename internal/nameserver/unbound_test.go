package nameserver

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// manyHosts has host0 to host19, each with a service below it.
func manyHosts() testDirectory {
	d := testDirectory{}
	for i := range byte(20) {
		address := netip.AddrFrom4([4]byte{10, 0, 1, i})
		d[hostName(i)] = Entry{Address: address, Ports: everything, Parent: true}
		d["www."+hostName(i)] = Entry{Address: address, Ports: ports("tcp/80")}
	}
	return d
}

func hostName(i byte) model.Name { return model.Name(fmt.Sprintf("host%d.foo.example.", i)) }

// unbound runs the real resolver with a stub zone at our server and returns
// its address.
func unbound(t *testing.T, server string, settings string) string {
	t.Helper()
	program, err := exec.LookPath("unbound")
	if err != nil {
		program = "/usr/sbin/unbound"
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("unbound is not installed: install unbound")
		}
		t.Skip("unbound is not installed: install unbound")
	}
	packets, listener := sockets(t) // a port that was free just now
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, serverPort, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = packets.Close(), listener.Close()
	config := filepath.Join(t.TempDir(), "unbound.conf")
	text := fmt.Sprintf(`server:
  interface: 127.0.0.1@%s
  port: %s
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  do-ip6: no
  do-not-query-localhost: no
  module-config: "iterator"
  domain-insecure: "example."
  local-zone: "example." nodefault
%s
stub-zone:
  name: "foo.example."
  stub-addr: 127.0.0.1@%s
remote-control:
  control-enable: no
`, port, port, settings, serverPort)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var output bytes.Buffer
	command := exec.CommandContext(ctx, program, "-d", "-p", "-c", config)
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // it was killed
		if t.Failed() {
			t.Logf("unbound says:\n%s", &output)
		}
	})
	address := net.JoinHostPort("127.0.0.1", port)
	for range 500 {
		client := dns.Client{Timeout: 100 * time.Millisecond}
		if _, _, err := client.ExchangeContext(t.Context(), request("localhost.", dns.TypeA), address); err == nil {
			return address
		}
		// TCP refuses at once while nobody listens: wait without hurry.
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatal("unbound does not answer")
	return ""
}

func TestUnboundMinimises(t *testing.T) {
	for about, settings := range map[string]string{
		"as it is":             "",
		"with random case":     "  use-caps-for-id: yes",
		"strictly":             "  qname-minimisation-strict: yes",
		"minimisation off":     "  qname-minimisation: no",
		"with harden settings": "  harden-below-nxdomain: yes\n  harden-referral-path: no\n  aggressive-nsec: yes",
	} {
		t.Run(about, func(t *testing.T) {
			var now atomic.Int64 // stands still while a question is under way
			server, allocator := newPublic(t, func(o *PublicOptions) {
				o.Directory = func() Directory { return manyHosts() }
				o.Now = func() model.Instant { return model.Instant(now.Load()) }
			})
			resolver := unbound(t, start(t, server), settings)
			off := about == "minimisation off"
			askWWW := func(i byte) {
				now.Add(int64(2 * detectorLate))
				name := "www." + string(hostName(i))
				reply := ask(t, resolver, "udp", request(name, dns.TypeA))
				if len(reply.Answer) != 1 || reply.Answer[0].Header().Rrtype != dns.TypeA {
					t.Fatalf("%s: %v", name, reply)
				}
			}
			var want []model.Name
			for i := range byte(10) {
				askWWW(i)
				if i < detectorProof && !off { // not known yet: each takes two addresses
					want = append(want, hostName(i))
				}
				want = append(want, "www."+hostName(i))
			}
			// Now somebody means the host itself.
			reply := ask(t, resolver, "udp", request(string(hostName(10)), dns.TypeA))
			want = append(want, hostName(10))
			if a := reply.Answer; len(a) == 0 || a[len(a)-1].Header().Rrtype != dns.TypeA {
				t.Errorf("the host itself: %v", reply)
			} else if alias := len(a) == 2 && a[0].Header().Rrtype == dns.TypeCNAME; alias == off {
				t.Errorf("an alias is %v: %v", alias, reply)
			}
			askWWW(11) // the alias followed, so the proof still holds
			want = append(want, "www."+hostName(11))
			var got []model.Name
			for _, question := range allocator.questions() {
				got = append(got, question.Name)
			}
			if !slices.Equal(got, want) {
				t.Errorf("lent for %v,\nwant     %v", got, want)
			}
		})
	}
}
