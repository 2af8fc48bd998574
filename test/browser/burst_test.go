package browser

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	burstClients = 12
	burstRounds  = 8
)

// TestBursts has twelve clients behind one resolver ask for one name within some
// milliseconds, eight times: the resolver joins their questions, and all have to
// get in with the one answer.
func TestBursts(t *testing.T) {
	for _, resolver := range []struct {
		name string
		ip   netip.Addr
	}{{"unbound", unboundIP}, {"dnsmasq", dnsmasqIP}, {"systemd-resolved", resolvedIP}} {
		t.Run(resolver.name, func(t *testing.T) {
			w := newWorld(t, netns.Options{Hosts: 3, Servers: 1, Resolver: true, RemoteClients: burstClients})
			certificates := newGateway(w, 4, splitSites)
			switch resolver.ip {
			case dnsmasqIP:
				w.address(*w.Resolver, dnsmasqIP)
				w.dnsmasq(w.Resolver.Namespace, dnsmasqIP, unboundIP)
			case resolvedIP:
				w.address(*w.Resolver, resolvedIP)
				w.resolved(w.Resolver.Namespace, resolvedIP, unboundIP)
			}
			var all tally
			for round := range burstRounds {
				burst(w.RemoteClients, resolver.ip, splitSites[round%len(splitSites)], fmt.Sprintf("round %d", round+1), certificates.pool(), &all)
				time.Sleep(3 * time.Second)
			}
			if got := all.count().visits; got != burstClients*burstRounds {
				t.Errorf("%d visits, want %d", got, burstClients*burstRounds)
			}
			all.report(t, "bursts of 12 behind "+resolver.name, false)
		})
	}
}

// burst has all clients look a site's name up at the same time, and each fetch
// from it as soon as it has the answer.
func burst(clients []netns.Node, resolver netip.Addr, s site, what string, roots *x509.CertPool, all *tally) {
	var ready, running sync.WaitGroup
	begin := make(chan struct{})
	ready.Add(len(clients))
	for i, from := range clients {
		running.Go(func() {
			ready.Done()
			<-begin
			fetch := func(name string) func() (string, error) {
				return func() (string, error) {
					addresses, err := lookUp(from, resolver, name, 5*time.Second)
					if err != nil {
						return "", err
					}
					return fetchFrom(from, addresses[0], name, s.ports[0], roots)
				}
			}
			who := fmt.Sprintf("burst %d", i+1)
			judge(all, who, what, hostName(s.host), fetch(s.name), fetch(directNames[0]))
		})
	}
	ready.Wait()
	close(begin)
	running.Wait()
}
