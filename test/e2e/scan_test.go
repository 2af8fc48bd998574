package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A scan by SYNs alone proves nothing and so claims nothing; one that finishes
// its handshakes is a client like others, and counted.
func TestScans(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.webServers()
	d := r.start(with(r.configuration(), "pool: {addresses: ["+r.Gateway.Pool.String()+"], reservation_timeout: 60s}"))
	scanner := r.Clients[0]
	address := r.mustLend(scanner, "www."+hostName(0))
	scan := func(from netns.Node, how string) map[string]string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		out, err := from.Command(ctx, "nmap", how, "-Pn", "-n", "--max-retries", "2", "-oG", "-", "-p", "22,80,443,8080", address.String()).CombinedOutput()
		if err != nil {
			t.Fatalf("nmap %s: %v: %s", how, err, out)
		}
		return scanned(string(out))
	}
	for range 2 {
		if got := fmt.Sprint(scan(scanner, "-sS")); got != "map[22:closed 443:closed 80:open 8080:closed]" {
			t.Errorf("nmap -sS found %s", got)
		}
	}
	if s := d.status(); s.Claimed != 0 || d.counted("drop_claim_unproved") > 0 {
		t.Errorf("SYNs alone claimed %d", s.Claimed)
	}
	if got := fmt.Sprint(scan(scanner, "-sT")); got != "map[22:closed 443:closed 80:open 8080:closed]" {
		t.Errorf("nmap -sT found %s", got)
	}
	eventually(t, 5*time.Second, "the finished handshake is counted", func() bool { return d.status().Claimed == 1 })
	// A scanner who has not asked learns nothing of what is open.
	for _, how := range []string{"-sS", "-sT"} {
		if got := fmt.Sprint(scan(r.Clients[1], how)); strings.Contains(got, "open") {
			t.Errorf("a stranger's nmap %s found %s", how, got)
		}
	}
	if page, err := curl(scanner, address, 80); err != nil || strings.TrimSpace(page) != hostName(0) {
		t.Errorf("who asked, after the scans: %q, %v", page, err)
	}
	if s := d.status(); s.Claimed != 1 {
		t.Errorf("%d claims", s.Claimed)
	}
}

// scanned reads nmap's "80/open/tcp//http///, …".
func scanned(text string) map[string]string {
	found := map[string]string{}
	_, ports, _ := strings.Cut(text, "Ports: ")
	ports, _, _ = strings.Cut(ports, "\n")
	for _, field := range strings.Split(ports, ",") {
		parts := strings.Split(strings.TrimSpace(field), "/")
		if len(parts) > 1 {
			found[parts[0]] = parts[1]
		}
	}
	return found
}
