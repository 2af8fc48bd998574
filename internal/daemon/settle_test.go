package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/names/server"
)

// A reload that ends a jail waits for the ban that this makes, say on a disk that stalls; the names of the reload do not.
func TestNewZonesDoNotWaitForAJail(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, text+fmt.Sprintf("jails: [{name: a, file: %s, patterns: ['^from <ADDRESS>$'], maxretry: 1}]\n", log))
	exempt, asked, disk := r.bans.Exempt, make(chan struct{}), make(chan struct{})
	r.bans.Exempt = func() (ban.Exempt, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-disk
		return exempt()
	}
	var sockets *server.Sockets
	r.must(r.namespace.Do(func() (err error) { sockets, err = server.Listen(r.view.Load().config); return err }))
	defer sockets.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	defer sync.OnceFunc(func() { close(disk) })()
	running.Go(func() { _ = r.jails.Run(ctx) })
	running.Go(func() { _ = r.names.ServePublic(ctx, sockets) })
	late := time.After(20 * time.Second)
	for banned := false; !banned; { // the jail reads what comes after its start
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
		r.must(err)
		_, err = f.WriteString("from 203.0.113.7\n")
		r.must(err)
		r.must(f.Close())
		select {
		case <-asked:
			banned = true
		case <-time.After(50 * time.Millisecond):
		case <-late:
			t.Fatal("the jail bans nobody")
		}
	}
	more := strings.Replace(text, "zones: [foo.example.]", "zones: [foo.example., bar.example.]", 1) +
		"  - {name: hostc.bar.example., address: 10.0.0.102, open: all}\n"
	running.Go(func() {
		if err := r.reloadWith(more); err != nil {
			t.Error(err)
		}
	})
	question := new(dns.Msg).SetQuestion("hostc.bar.example.", dns.TypeA)
	var reply *dns.Msg
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		r.must(r.namespace.Do(func() (err error) { reply, err = dns.Exchange(question, "198.18.0.1:53"); return err }))
		if reply.Rcode == dns.RcodeSuccess {
			return
		}
	}
	t.Errorf("a new zone is answered with %s while a ban waits", dns.RcodeToString[reply.Rcode])
}
