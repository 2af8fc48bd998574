package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	pageSeconds = 3
	pageClients = 64
	// pageSessions is what devices are sized for: every port of the client, twice.
	pageSessions = 131_072
	pageServer   = 80
	startWithin  = 5 * time.Second
)

// comparePages fetches a page that fits one packet, in one connection each, as the
// paper did with httperf and boa.
func comparePages(ctx context.Context, b *bench.Bench, c bench.Comparison) error {
	for _, tool := range []string{"wrk", "nginx"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Note("pages are left out: %s is not installed (Debian: apt install wrk nginx-light)", tool)
			return nil
		}
	}
	c.Devices = slices.DeleteFunc(slices.Clone(b.Devices), func(m bench.Model) bool { return m.External })
	if len(c.Devices) == 0 {
		return nil
	}
	seconds := pageSeconds
	if b.Smoke {
		seconds = 1
	}
	b.Note("pages is what wrk fetches from nginx, a connection for each page, %d at a time, in %d s: both ends and the device share the CPUs", pageClients, seconds)
	c.Setup.Sessions = pageSessions
	c.Measure = func(ctx context.Context, bed *bench.Bed) ([]bench.Measure, error) {
		return measurePages(ctx, bed, seconds)
	}
	return b.Compare(ctx, c)
}

func measurePages(ctx context.Context, bed *bench.Bed, seconds int) (measures []bench.Measure, err error) {
	if err := bed.Rig.Hosts(); err != nil {
		return nil, err
	}
	stop, err := serve(ctx, bed.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	url := fmt.Sprintf("http://%s/", net.JoinHostPort(bench.PublicNextHop.String(), strconv.Itoa(pageServer)))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+startWithin)
	defer cancel()
	out, err := bed.Rig.Inside.Command(ctx, "wrk", "-t", "1", "-c", strconv.Itoa(pageClients), "-d", strconv.Itoa(seconds),
		"-H", "Connection: close", url).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk through %s: %w: %s", bed.DUT.Name, err, bytes.TrimSpace(out))
	}
	pages, failed, err := parsePages(out)
	if err != nil {
		return nil, err
	}
	bed.Gates.Require("pages", pages > 0 && failed == 0, "%g pages a second, %d connections failed", pages, failed)
	return []bench.Measure{{Metric: "pages", Unit: "sessions/s", Value: pages}}, bed.DUT.Reset(ctx)
}

var (
	pageRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	pageErrors = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
	pageOther  = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
)

// parsePages reads wrk's report.
func parsePages(out []byte) (perSecond float64, failed int, err error) {
	match := pageRate.FindSubmatch(out)
	if match == nil {
		return 0, 0, fmt.Errorf("wrk printed no rate: %s", bytes.TrimSpace(out))
	}
	perSecond, err = strconv.ParseFloat(string(match[1]), 64)
	for _, pattern := range []*regexp.Regexp{pageErrors, pageOther} {
		for _, group := range pattern.FindSubmatch(out) {
			if n, err := strconv.Atoi(string(group)); err == nil {
				failed += n
			}
		}
	}
	return perSecond, failed, err
}

const nginxConfiguration = `daemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log stderr crit;
events { worker_connections 4096; }
http {
 access_log off; keepalive_timeout 0;
 client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
 server { listen %[2]d backlog=4096; return 200 "a page that fits into one packet\n"; }
}
`

// serve runs nginx outside until stop is called.
func serve(ctx context.Context, rig *bench.Rig) (stop func() error, err error) {
	configuration := filepath.Join(rig.Directory, "nginx.conf")
	text := fmt.Sprintf(nginxConfiguration, rig.Directory, pageServer)
	if err := os.WriteFile(configuration, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration of nginx: %w", err)
	}
	var complaint bytes.Buffer
	server := rig.Outside.Command(ctx, "nginx", "-p", rig.Directory, "-e", "stderr", "-c", configuration)
	server.Stderr = &complaint
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start nginx: %w", err)
	}
	stop = func() error {
		_ = server.Process.Signal(os.Interrupt) // it may have ended, as Wait says
		var exit *exec.ExitError
		if err := server.Wait(); err != nil && !errors.As(err, &exit) {
			return fmt.Errorf("stop nginx: %w", err)
		}
		return nil
	}
	if err := answers(ctx, rig.Outside); err != nil {
		return nil, errors.Join(fmt.Errorf("nginx does not serve: %w: %s", err, bytes.TrimSpace(complaint.Bytes())), stop())
	}
	return stop, nil
}

// answers waits until the server takes connections.
func answers(ctx context.Context, at *netns.Namespace) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		connection, err := at.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", bench.PublicNextHop, pageServer))
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
