package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkAllocateAndClaim is name → address → first packet at the host: how
// many a second at most, and how long one takes at a load of half that and less.
// Client, gateway and hosts share the machine's CPUs.
func BenchmarkAllocateAndClaim(b *testing.B) {
	for _, standing := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("half-open=%d", standing), func(b *testing.B) {
			a := newAllocation(b)
			a.stand(b, standing)
			b.Run("most", func(b *testing.B) { a.run(b, 16, 0) })
			for _, rate := range []int{1000, 5000} {
				b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) { a.run(b, 16, rate) })
			}
			if used := a.halfOpen(b); standing > 0 && used < standing {
				b.Errorf("%d reservations stood at the end: they expired under the measurement", used)
			}
		})
	}
}

func (a *allocation) halfOpen(b *testing.B) int {
	b.Helper()
	out, err := a.daemon.tell("status", "-o", "json")
	match := regexp.MustCompile(`"half_open": \{\s*"used": (\d+)`).FindStringSubmatch(out)
	if err != nil || match == nil {
		b.Fatalf("status: %v: %s", err, out)
	}
	used, _ := strconv.Atoi(match[1])
	return used
}

// BenchmarkQueries is the public name server under dnsperf: questions that are
// told to come by TCP, ones that need no address, and ones that get one.
func BenchmarkQueries(b *testing.B) {
	for _, c := range []struct{ name, verify, kind string }{
		{"truncated", "tcp", "A"}, {"no-address", "none", "TXT"}, {"lent", "none", "A"},
	} {
		b.Run(c.name, func(b *testing.B) {
			a := newAllocation(b)
			if c.verify == "tcp" {
				text, err := os.ReadFile(a.daemon.config)
				if err != nil {
					b.Fatal(err)
				}
				changed := strings.Replace(string(text), "verify: none", "verify: tcp", 1)
				if err := os.WriteFile(a.daemon.config, []byte(changed), 0o600); err != nil {
					b.Fatal(err)
				}
				if out, err := a.daemon.tell("reload"); err != nil {
					b.Fatal(out)
				}
			}
			a.dnsperf(b, c.kind)
		})
	}
}

// dnsperf asks for every service for three seconds, whatever b.N is.
func (a *allocation) dnsperf(b *testing.B, kind string) {
	b.Helper()
	var questions strings.Builder
	for n := range allocateHosts * allocatePorts {
		fmt.Fprintf(&questions, "%s %s\n", serviceName(n), kind)
	}
	file := filepath.Join(a.realm.directory, "questions")
	if err := os.WriteFile(file, []byte(questions.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	out, err := a.realm.Clients[0].Command(context.Background(), "dnsperf", "-s", a.realm.Gateway.PublicAddress.String(),
		"-d", file, "-l", "3", "-c", "8", "-q", "200").CombinedOutput()
	if err != nil {
		b.Fatalf("dnsperf: %v: %s", err, out)
	}
	for pattern, unit := range map[string]string{
		`Queries per second:\s+([0-9.]+)`:    "queries/s",
		`Queries lost:\s+([0-9]+)`:           "lost",
		`Average Latency \(s\):\s+([0-9.]+)`: "s-latency",
	} {
		match := regexp.MustCompile(pattern).FindSubmatch(out)
		if match == nil {
			b.Fatalf("dnsperf printed no %s:\n%s", unit, out)
		}
		value, _ := strconv.ParseFloat(string(match[1]), 64)
		b.ReportMetric(value, unit)
	}
	b.ReportMetric(0, "ns/op")
}
