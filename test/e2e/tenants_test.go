package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A firewall that is closed while the gateway runs is named in status with the command that
// mends it; with that first packets get out again, and the line is gone.
func TestClosedFirewallIsNamed(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	webServer(t, r.Clients[0], 80, "outside")
	d := r.start(r.configuration())
	const what = "drops packets that the gateway has translated"
	r.command("gateway", "nft", "add table inet filter")
	r.command("gateway", "nft", "add chain inet filter forward { type filter hook forward priority 0; policy drop; }")
	var line string
	eventually(t, 30*time.Second, "status names it", func() bool { line = d.warning(what); return line != "" })
	mend := line[strings.LastIndex(line, ": ")+2:]
	r.command("gateway", "sh", "-c", mend)
	eventually(t, 30*time.Second, "the line is gone", func() bool { return d.warning(what) == "" })
	if line := d.warning("XDP program"); line != "" {
		t.Error("its own program is somebody else's: " + line)
	}
	if page, err := curl(r.Gateway.Hosts[0], r.Clients[0].IP, 80); err != nil || strings.TrimSpace(page) != "outside" {
		t.Errorf("%q, %v", page, err)
	}
}

// A qdisc sees what the gateway sends when the interface is one of egress.stack, and is named
// when it is not.
func TestQdiscSeesWhatLeaves(t *testing.T) {
	t.Parallel()
	for name, stack := range map[string]bool{"by the stack": true, "redirected": false} {
		t.Run(name, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
			webServer(t, r.Clients[0], 80, "outside")
			out := r.Gateway.Public[0]
			r.command("gateway", "tc", "qdisc", "add", "dev", out, "root", "handle", "5:", "tbf", "rate", "100mbit", "burst", "64k", "latency", "50ms")
			configuration := r.configuration()
			if !stack {
				configuration = atXDP(configuration, "eth0", "eth1")
			}
			if stack {
				configuration = strings.Replace(configuration, "interfaces: {", "interfaces: {egress: {stack: ["+out+"]}, ", 1)
			}
			d := r.start(configuration)
			named := func() bool { return d.warning("qdisc tbf of "+out+" shapes none") != "" }
			if !stack {
				eventually(t, 10*time.Second, "status names the qdisc", named)
			}
			sent := r.qdiscSent(out)
			for range 50 {
				if page, err := curl(r.Gateway.Hosts[0], r.Clients[0].IP, 80); err != nil || strings.TrimSpace(page) != "outside" {
					t.Fatalf("%q, %v", page, err)
				}
			}
			// Each takes five packets out at least.
			if more := r.qdiscSent(out) - sent; more >= 250 != stack {
				t.Errorf("the qdisc has sent %d packets", more)
			}
			if stack && named() {
				t.Error(d.status().Warnings)
			}
		})
	}
}

// qdiscSent is how many packets the root qdisc of an interface of the gateway has sent.
func (r *realm) qdiscSent(ifname string) int {
	r.t.Helper()
	out, err := r.Gateway.Command(r.t.Context(), "tc", "-s", "qdisc", "show", "dev", ifname, "root").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	words := strings.Fields(string(out))
	for i, w := range words {
		if w == "bytes" && i+1 < len(words) {
			n, err := strconv.Atoi(words[i+1])
			if err != nil {
				r.t.Fatal(err)
			}
			return n
		}
	}
	r.t.Fatalf("no figure in %s", out)
	return 0
}
