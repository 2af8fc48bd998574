package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// keepers ask for names, keep the addresses for as long as a rest, and use them
// all the while: I9 says that they reach the host that they asked for, or nobody.
type keepers struct {
	realm         *realm
	hosts         int
	rest          time.Duration
	stop          chan struct{}
	running       sync.WaitGroup
	right, turned atomic.Int64 // reached, refused or not answered
}

// keep starts them, one a client.
func (r *realm) keep(hosts int, rest time.Duration) *keepers {
	k := &keepers{realm: r, hosts: hosts, rest: rest, stop: make(chan struct{})}
	for _, c := range r.RemoteClients {
		k.running.Go(func() {
			for number := 0; ; number++ {
				select {
				case <-k.stop:
					return
				default:
					k.one(c, number)
				}
			}
		})
	}
	return k
}

// one asks for a name and uses what it gets, by TCP and UDP in turn.
func (k *keepers) one(from netns.Node, number int) {
	t := k.realm.t
	kind, host := []string{"www.", "echo."}[number%2], hostName(rand.IntN(k.hosts)) //nolint:gosec // a test's choice
	asked := time.Now()
	address, err := lent(from, k.realm.Gateway, kind+host)
	if err != nil {
		time.Sleep(5 * time.Millisecond) // nobody serves, or no place is free
		return
	}
	// An attempt that begins before the rest is over may end behind it.
	for used := asked; time.Since(asked) < k.rest-k.rest/10; used = time.Now() {
		var who string
		if number%2 == 0 {
			who, err = visitWithin(from, address, 80, k.rest)
		} else {
			who, err = echo(from, netip.AddrPort{}, echoAddress(address))
		}
		switch {
		case err != nil:
			k.turned.Add(1)
		case who != host:
			t.Errorf("asked for %s and got %s: %s after that it reached %s", host, address, used.Sub(asked).Round(time.Millisecond), who)
		default:
			k.right.Add(1)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(k.rest / 4)))) //nolint:gosec // a test's choice
	}
}

// goOn waits until so many more have reached their hosts.
func (k *keepers) goOn(more int64) {
	k.realm.t.Helper()
	before := k.right.Load()
	eventually(k.realm.t, 60*time.Second, fmt.Sprint(more, " more reach their hosts"), func() bool { return k.right.Load() >= before+more })
}

func (k *keepers) end() {
	close(k.stop)
	k.running.Wait()
	k.realm.t.Logf("%d reached their hosts, %d were refused or not answered", k.right.Load(), k.turned.Load())
}

// Whoever uses an address within the rest of having been given it reaches the host
// that it was given for, or is refused: over kill -9, reloads that close and open
// hosts, clean stops, and reboots, with more names than addresses.
func TestNeverAnotherHost(t *testing.T) {
	t.Parallel()
	const hosts = 12
	r := newRealm(t, netns.Options{Hosts: hosts, RemoteClients: 8})
	r.webServers()
	r.echoServers()
	all := with(r.configuration(), "pool: {addresses: [198.18.0.32/29], reservation_timeout: 1s, rest: 2s}")
	some := all
	for i := range hosts / 3 {
		some = strings.Replace(some, hostEntry(3*i, r.Hosts()[3*i].IP), "", 1)
	}
	d := r.start(all)
	k := r.keep(hosts, 2*time.Second)
	rounds := 1
	if lab.Lengthy() {
		rounds = 5
	}
	for range rounds {
		k.goOn(60)
		d.kill()
		d.run()
		k.goOn(40)
		for _, configuration := range []string{some, all} {
			d.write(configuration)
			if out, err := d.tell("reload"); err != nil {
				t.Fatal(out)
			}
			k.goOn(40)
		}
		d.write(some)
		d.kill() // with a change that nobody has put into force
		d.run()
		d.write(all)
		d.stop()
		d.run()
		k.goOn(40)
		d.reboot()
		k.goOn(40)
	}
	k.end()
}

// reboot ends the daemon at once, and with it all that is in the kernel; the disk
// stays. The clock goes on: allocation's own tests begin it anew.
func (d *daemon) reboot() {
	d.t.Helper()
	d.kill()
	if err := os.RemoveAll(filepath.Join(pins, d.instance)); err != nil {
		d.t.Fatal(err)
	}
	d.run()
	if d.status().Adopted {
		d.t.Error("something was adopted after a reboot")
	}
}
