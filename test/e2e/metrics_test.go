package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Between two scrapes claims, sessions and packets differ by exactly what was sent meanwhile, and promtool finds nothing to say.
func TestMetricsCountWhatWasSent(t *testing.T) {
	t.Parallel()
	const fetches, hosts = 50, 5
	r := newRealm(t, netns.Options{Hosts: hosts, RemoteClients: 1})
	r.webServers()
	d := r.start(r.configuration())
	from := r.RemoteClients[0]
	addresses := moreAddresses(t, from, fetches)
	sent := countPackets(t, from, 80)
	before := d.scrape()
	for reason, packets := range map[string]float64{"drop_banned": 0, "drop_internal": 0, "drop_no_port": 0, "answered_cookie": 0} {
		if n, there := before[fmt.Sprintf("realmgate_packets_total{reason=%q}", reason)]; !there || n != packets {
			t.Errorf("after the start %s: %v, %v", reason, n, there)
		}
	}
	for i, address := range addresses {
		found, err := dig(from, r.Gateway.PublicAddress, "www."+hostName(i%hosts))
		if err != nil {
			t.Fatal(err)
		}
		if page, err := curl(from, found[0], 80, "--interface", address.String()); err != nil || strings.TrimSpace(page) != hostName(i%hosts) {
			t.Fatalf("fetch %d: %q, %v", i, page, err)
		}
	}
	grown := func() map[string]float64 {
		grown := d.scrape()
		for series, n := range before {
			grown[series] -= n
		}
		return grown
	}
	var got map[string]float64
	forwarded := func() (packets float64) {
		for series, n := range got {
			if strings.HasPrefix(series, `realmgate_packets_total{reason="forwarded`) {
				packets += n
			}
		}
		return packets
	}
	eventually(t, 10*time.Second, "the last connection has closed, and its claim was heard of", func() bool {
		got = grown()
		return got[`realmgate_pool_offers_total{result="claimed"}`] == fetches && forwarded() == float64(sent())
	})
	for series, want := range map[string]float64{
		"realmgate_pool_claims_total":                                        fetches,
		"realmgate_pool_answers_total":                                       fetches,
		"realmgate_pool_claim_seconds_count":                                 fetches,
		"realmgate_sessions_opened_total":                                    fetches,
		`realmgate_dns_questions_total{side="public",transport="tcp"}`:       fetches,
		`realmgate_dns_answers_total{rcode="noerror",side="public"}`:         fetches,
		`realmgate_dns_answer_seconds_count{side="public",transport="tcp"}`:  fetches,
		`realmgate_dns_answer_seconds_count{side="private",transport="udp"}`: 0,
		`realmgate_packets_total{reason="drop_no_reservation"}`:              0,
		"realmgate_measure_failures_total":                                   0,
		"realmgate_series_left_out":                                          0,
	} {
		if n, there := got[series]; !there || n != want {
			t.Errorf("%s has grown by %v (there: %v), want %v", series, n, there, want)
		}
	}
	if packets := sent(); packets < 8*fetches || forwarded() != float64(packets) {
		t.Errorf("%d packets were sent and received, the gateway forwarded %v", packets, forwarded())
	}
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(d.metrics())
	if out, err := check.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// Each connection of a host takes a port of its outbound address. Reloads that are refused count.
func TestMetricsOfHostsAndReloads(t *testing.T) {
	t.Parallel()
	const fetches = 7
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	webServer(t, r.Servers[0], 80, "outside")
	d := r.start(r.configuration())
	tcp := fmt.Sprintf("realmgate_ports_used{address=%q,protocol=\"tcp\"}", r.Gateway.Outbound)
	before := d.scrape()
	for range fetches {
		if _, err := curl(r.Hosts()[0], r.Servers[0].IP, 80); err != nil {
			t.Fatal(err)
		}
	}
	after := d.scrape()
	for _, series := range []string{tcp, "realmgate_mappings", `realmgate_table_entries{table="mapping_table"}`, "realmgate_sessions_opened_total"} {
		if n := after[series] - before[series]; n != fetches {
			t.Errorf("%s has grown by %v, want %d", series, n, fetches)
		}
	}
	for line, good := range map[string]bool{"capacity: many": false, "mss: 1300": true} {
		d.write(with(r.configuration(), line))
		if out, err := d.tell("reload"); (err == nil) != good {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	after = d.scrape()
	if after["realmgate_reload_failures_total"] != 1 || after["realmgate_generation"] != before["realmgate_generation"]+1 {
		t.Errorf("%v reloads were refused, the generation is %v", after["realmgate_reload_failures_total"], after["realmgate_generation"])
	}
	if after["realmgate_reload_success_timestamp_seconds"] <= before["realmgate_reload_success_timestamp_seconds"] {
		t.Error("no configuration came into force")
	}
}

// metrics is the page at the control socket.
func (d *daemon) metrics() string {
	d.t.Helper()
	out, err := exec.Command("curl", "-sS", "--fail-with-body", "--retry", "3", "--max-time", "10", "--unix-socket", client.SocketPath(d.instance), "http://localhost/metrics").Output()
	if err != nil {
		d.t.Fatalf("scrape: %v\n%s", err, out)
	}
	return string(out)
}

// scrape returns the values of the page, by their series.
func (d *daemon) scrape() map[string]float64 {
	d.t.Helper()
	return valuesOf(d.t, d.metrics())
}

func valuesOf(t *testing.T, page string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		values[line[:at]] = value
	}
	return values
}

// moreAddresses gives a node as many addresses more, beside its own.
func moreAddresses(t *testing.T, at netns.Node, n int) (list []netip.Addr) {
	t.Helper()
	var script strings.Builder
	for a := at.IP; len(list) < n; {
		a = a.Next()
		list = append(list, a)
		fmt.Fprintf(&script, "addr add %s/24 dev eth0\n", a)
	}
	add := at.Command(context.Background(), "ip", "-batch", "-")
	add.Stdin = strings.NewReader(script.String())
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("more addresses: %v\n%s", err, out)
	}
	return list
}

// countPackets counts the TCP packets between a node and a port elsewhere, from then on.
func countPackets(t *testing.T, at netns.Node, port int) func() int {
	t.Helper()
	rules := at.Command(context.Background(), "nft", "-f", "-")
	rules.Stdin = strings.NewReader(fmt.Sprintf(`table ip counted {
	chain sent { type filter hook output priority 0; tcp dport %d counter; }
	chain received { type filter hook prerouting priority -400; tcp sport %[1]d counter; }
}`, port))
	if out, err := rules.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v\n%s", err, out)
	}
	counter := regexp.MustCompile(`counter packets (\d+)`)
	return func() (packets int) {
		out, err := at.Command(context.Background(), "nft", "list", "table", "ip", "counted").CombinedOutput()
		if err != nil {
			t.Fatalf("nft: %v\n%s", err, out)
		}
		for _, found := range counter.FindAllSubmatch(out, -1) {
			n, _ := strconv.Atoi(string(found[1])) // digits
			packets += n
		}
		return packets
	}
}
