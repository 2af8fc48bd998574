package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

func TestNameToPage(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, RemoteClients: 1, Resolver: true})
	r.webServers()
	r.resolver()
	r.start(r.configuration())
	addresses, err := dig(r.RemoteClients[0], r.Resolver.IP, "www."+hostName(0))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Gateway.Pool.Contains(addresses[0]) {
		t.Fatalf("%s is not in the pool %s", addresses[0], r.Gateway.Pool)
	}
	page, err := curl(r.RemoteClients[0], addresses[0], 80)
	if err != nil || strings.TrimSpace(page) != hostName(0) {
		t.Fatalf("page %q, %v", page, err)
	}
}

// 1,000 fetches (300 but in the lengthy part), 8 at a time, 50 hosts that take turns at
// 16 addresses: every page is from the host that was asked for.
func TestThousandFetches(t *testing.T) {
	const hosts, workers = 50, 8
	fetches := 300
	if lab.Lengthy() {
		fetches = 1000
	}
	r := newRealm(t, netns.Options{Hosts: hosts, RemoteClients: 4, Resolver: true})
	r.webServers()
	r.resolver("  discard-timeout: 0\n") // else it drops an answer for which it had to wait for 1.9 s
	d := r.start(with(r.configuration(), "pool: {addresses: ["+r.Gateway.Pool.String()+"], reservation_timeout: 1s, rest: 1s, wait: 5s}"))
	jobs := make(chan int)
	var running sync.WaitGroup
	var mutex sync.Mutex
	var failures []string
	for range workers {
		running.Go(func() {
			for job := range jobs {
				if err := fetch(r, job%hosts, job%len(r.RemoteClients)); err != nil {
					mutex.Lock()
					failures = append(failures, err.Error())
					mutex.Unlock()
				}
			}
		})
	}
	for job := range fetches {
		jobs <- job
	}
	close(jobs)
	running.Wait()
	if len(failures) > 0 {
		status, _ := d.tell("status")
		t.Fatalf("%d of %d fetches failed, the first: %s\n%s", len(failures), fetches, failures[0], status)
	}
}

func fetch(r *realm, host, client int) error {
	addresses, err := dig(r.RemoteClients[client], r.Resolver.IP, "www."+hostName(host))
	if err != nil {
		return err
	}
	page, err := curl(r.RemoteClients[client], addresses[0], 80)
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(page); got != hostName(host) {
		return fmt.Errorf("asked for %s at %s and reached %s", hostName(host), addresses[0], got)
	}
	return nil
}

func TestTwoClientsBehindOneResolverBothGetIn(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 2, Resolver: true})
	r.webServers()
	r.resolver()
	r.start(r.configuration())
	for round := range 20 {
		errs := make(chan error)
		for client := range 2 {
			go func() { errs <- fetch(r, 0, client) }()
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
	}
}

func TestSixConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 1, Resolver: true})
	r.webServers()
	r.resolver()
	r.start(r.configuration())
	addresses, err := dig(r.RemoteClients[0], r.Resolver.IP, "www."+hostName(0))
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for range 6 {
		go func() {
			_, err := curl(r.RemoteClients[0], addresses[0], 80)
			errs <- err
		}()
	}
	for range 6 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
