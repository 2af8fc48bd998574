package browser

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// manner is how a program fetches.
type manner struct {
	curl    []string // its arguments
	scheme  string
	http    string // what the host has to see
	version uint16 // of TLS
}

var manners = []manner{
	{[]string{"--http1.1"}, "http", "HTTP/1.1", 0},
	{[]string{"--http1.1", "--tls-max", "1.2"}, "https", "HTTP/1.1", tls.VersionTLS12},
	{[]string{"--http1.1", "--tlsv1.3"}, "https", "HTTP/1.1", tls.VersionTLS13},
	{[]string{"--http2", "--tls-max", "1.2"}, "https", "HTTP/2.0", tls.VersionTLS12},
	{[]string{"--http2", "--tlsv1.3"}, "https", "HTTP/2.0", tls.VersionTLS13},
}

// TestRightHost has curl, Go and Chromium fetch from sites of two hosts behind one address, in each manner, with a connection for
// each fetch: 1,000 times, and 10,000 at length. Each comes to the host of its name, which sees the client's own address.
func TestRightHost(t *testing.T) {
	each, pairs := 90, 50
	if lab.Lengthy() {
		each, pairs = 900, 500
	}
	f := newFarm(newWorld(t, farmOptions(3)), farmHosts, siteHabits{}, sitesAddress)
	before, err := f.status()
	f.must(err)
	var right, all int
	var mutex sync.Mutex
	count := func(who string, got, want []string) {
		mutex.Lock()
		defer mutex.Unlock()
		all += len(want)
		for i, line := range want {
			if i < len(got) && got[i] == line {
				right++
			} else if i < len(got) {
				t.Errorf("%s: %q, want %q", who, got[i], line)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d answers to %d", who, len(got), len(want))
		}
	}
	var running sync.WaitGroup
	running.Go(func() {
		for _, m := range manners {
			count("curl "+strings.Join(m.curl, " "), f.curl(f.RemoteClients[0], m, each), wanted(f.RemoteClients[0], m, each))
		}
	})
	running.Go(func() {
		for _, m := range manners {
			count("Go by "+m.http, f.goFetches(f.RemoteClients[1], m, each), wanted(f.RemoteClients[1], m, each))
		}
	})
	running.Go(func() {
		m := manner{scheme: "https", http: "HTTP/2.0", version: tls.VersionTLS13}
		count("Chromium", f.chromiumPairs(f.RemoteClients[2], pairs), wanted(f.RemoteClients[2], m, 2*pairs))
	})
	running.Wait()
	after, err := f.status()
	f.must(err)
	t.Logf("right host %d of %d, over %d connections; packets by what became of them: %s", right, all, after.Web.Opened-before.Web.Opened, f.dropped())
	if got := after.Web.Opened - before.Web.Opened; got < uint64(all) { // #nosec G115 -- thousands
		t.Errorf("%d connections for %d fetches", got, all)
	}
}

// wanted are the answers to n fetches in turn from the first two sites.
func wanted(from netns.Node, m manner, n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("%s %s %s %s %s %d", farmHost(i%2, byGateway), siteOf(i%2, byGateway), from.IP, m.http,
			strings.ReplaceAll(tls.VersionName(m.version), " ", ""), i))
	}
	return lines
}

func seenURL(m manner, i int) string {
	return fmt.Sprintf("%s://%s/seen?%d", m.scheme, siteOf(i%2, byGateway), i)
}

// curl fetches with one curl.
func (f *farm) curl(from netns.Node, m manner, n int) []string {
	var config strings.Builder
	for i := range n {
		fmt.Fprintf(&config, "url = %q\n", seenURL(m, i))
	}
	path := filepath.Join(f.directory, "curl-"+from.Name())
	if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
		f.t.Error(err)
		return nil
	}
	arguments := append([]string{"-sS", "-m", "10", "--cacert", f.certificates.path("ca.pem"), "--config", path}, m.curl...)
	for i := range 2 {
		for _, port := range []int{80, 443} {
			arguments = append(arguments, "--resolve", fmt.Sprintf("%s:%d:%s", siteOf(i, byGateway), port, sitesAddress))
		}
	}
	command := from.Command(background, "curl", arguments...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil || complaints.Len() > 0 {
		f.t.Errorf("curl %v: %v: %.500s", m.curl, err, complaints.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// goFetches fetches with net/http.
func (f *farm) goFetches(from netns.Node, m manner, n int) (lines []string) {
	transport := &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: m.http == "HTTP/2.0",
		TLSClientConfig: &tls.Config{RootCAs: f.certificates.pool(), MinVersion: tls.VersionTLS12, MaxVersion: m.version},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, _ := strings.Cut(address, ":")
			return from.DialFrom(ctx, network, netip.AddrPortFrom(from.IP, 0), sitesAddress.String()+":"+port)
		},
	}
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	for i := range n {
		line, err := func() (string, error) {
			reply, err := client.Get(seenURL(m, i))
			if err != nil {
				return "", err
			}
			defer reply.Body.Close()
			text, err := io.ReadAll(io.LimitReader(reply.Body, 4096))
			return strings.TrimSpace(string(text)), err
		}()
		if err != nil {
			line = err.Error()
		}
		lines = append(lines, line)
	}
	return lines
}

// chromiumPairs has Chromium fetch from both sites at once, so many times.
func (f *farm) chromiumPairs(from netns.Node, pairs int) (lines []string) {
	m := f.newMachine(from, unboundIP)
	page, err := surfer{who: "Chromium"}.start(f, m)
	if err == nil {
		err = page.open(background, "https://"+siteOf(0, byGateway)+"/page?https://"+siteOf(0, byGateway)+"="+farmHost(0, byGateway))
	}
	for done := 0; err == nil && done < pairs; done += 50 {
		var text string
		ctx, cancel := context.WithTimeout(background, time.Minute)
		text, err = page.evaluate(ctx, fmt.Sprintf(`(async () => {
  const lines = [];
  const get = url => fetch(url, {cache: "no-store"}).then(r => r.text(), String);
  for (let i = %d; i < %d; i += 2)
    lines.push(...await Promise.all([get("https://%s/seen?" + i), get("https://%s/seen?" + (i + 1))]));
  return lines.map(line => line.trim()).join("\n");
})()`, 2*done, 2*(done+50), siteOf(0, byGateway), siteOf(1, byGateway)))
		cancel()
		lines = append(lines, strings.Split(text, "\n")...)
	}
	if err != nil {
		f.t.Error("Chromium: ", err)
	}
	return lines
}
