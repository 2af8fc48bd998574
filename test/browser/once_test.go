package browser

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// fetchFrom gets a line of text over a connection of its own to an address, by
// https where the port is 443.
func fetchFrom(from netns.Node, address netip.Addr, name string, port int, roots *x509.CertPool) (string, error) {
	name = strings.TrimSuffix(name, ".")
	scheme := "http"
	if port == 443 {
		scheme = "https"
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			target := netip.AddrPortFrom(address, uint16(port)) // #nosec G115 -- 80 or 443
			return from.DialFrom(ctx, network, netip.AddrPortFrom(from.IP, 0), target.String())
		},
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	reply, err := client.Get(fmt.Sprintf("%s://%s/", scheme, name))
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 4096))
	return strings.TrimSpace(string(text)), err
}

// judge makes an outcome of what a fetch gave, and compares with a direct fetch
// where it was slow.
func judge(all *tally, who, what, host string, fetch, direct func() (string, error)) {
	o := outcome{who: who, what: what, at: time.Now()}
	text, err := fetch()
	o.took = time.Since(o.at)
	switch {
	case err != nil:
		o.failed, o.detail = true, err.Error()
	case text != host:
		o.wrong, o.detail = true, fmt.Sprintf("%s answered for %s", text, host)
	}
	all.add(o)
	if o.took <= hungAfter {
		return
	}
	d := outcome{who: who, at: time.Now()}
	_, err = direct()
	d.took, d.failed = time.Since(d.at), err != nil
	all.addDirect(d)
}

// crowd is other people: so many visits a second, each asking for a site's name
// anew, from the node's address, until the context ends.
func crowd(ctx context.Context, from netns.Node, sites []site, rate float64, roots *x509.CertPool, all *tally) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s := sites[rand.IntN(len(sites))] // #nosec G404 -- which page somebody looks at
		go visitOnce(from, s, roots, all)
	}
}

// visitOnce looks a site's name up and fetches from it.
func visitOnce(from netns.Node, s site, roots *x509.CertPool, all *tally) {
	fetch := func(name string) func() (string, error) {
		return func() (string, error) {
			addresses, err := lookUp(from, unboundIP, name, 5*time.Second)
			if err != nil {
				return "", err
			}
			return fetchFrom(from, addresses[0], name, s.ports[0], roots)
		}
	}
	judge(all, "others", s.name, hostName(s.host), fetch(s.name), fetch(directNames[0]))
}

// resolveOnce looks a site's name up once and then connects to its address every
// period, n times.
func resolveOnce(from netns.Node, s site, n int, period time.Duration, roots *x509.CertPool, all *tally) {
	addresses, err := lookUp(from, unboundIP, s.name, 5*time.Second)
	if err != nil {
		all.add(outcome{who: "once (Go)", what: s.name, failed: true, detail: err.Error()})
		return
	}
	direct := func() (string, error) { return fetchFrom(from, webAddress(0), directNames[0], s.ports[0], roots) }
	tick := time.NewTicker(period)
	defer tick.Stop()
	for i := range n {
		judge(all, "once (Go)", fmt.Sprintf("connection %d", i+1), hostName(s.host), func() (string, error) {
			return fetchFrom(from, addresses[0], s.name, s.ports[0], roots)
		}, direct)
		<-tick.C
	}
}

// resolveOnceJava is the same by OpenJDK told to keep addresses for ever.
func resolveOnceJava(m *machine, s site, n int, period time.Duration, all *tally) error {
	j, err := newJava(m, "-Dsun.net.inetaddr.ttl=-1")
	if err != nil {
		return err
	}
	fetch := func(name string) func() (string, error) {
		return func() (string, error) { return j.fetchPort(name, s.ports[0], 10*time.Second) }
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for i := range n {
		judge(all, "once (OpenJDK)", fmt.Sprintf("connection %d", i+1), hostName(s.host), fetch(s.name), fetch(directNames[0]))
		<-tick.C
	}
	return nil
}
