package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
)

// readable is a gateway whose API who is on its machine may ask, as the guide has it.
const readable = "api: {listen: [\"127.0.0.1:9470\"]}\n"

// watching is a gateway that looks after much: a log, a list, a backend, a sink, a honeypot.
type watching struct {
	*realm
	*daemon
	lists   *publisher
	journal string
	backend *http.Server
	sink    *http.Server
	signer  *signer
	// collector takes the NAT log.
	collector net.PacketConn
	good      string // its configuration
}

func newWatching(t *testing.T) *watching {
	t.Helper()
	w := &watching{realm: newRealm(t, netns.Options{Hosts: 1, Clients: 2, Servers: 1})}
	w.journal = filepath.Join(w.directory, "auth.log")
	w.must(os.WriteFile(w.journal, nil, 0o600))
	w.lists = publish(t, w.Servers[0])
	w.lists.put("/drop.txt", "203.0.113.0/24")
	w.backend, w.sink = serveAt(t, w.Hosts()[0], 8080, page("backend")), serveAt(t, w.Servers[0], 8001, &hook{})
	w.signer, w.collector = newSigner(t), w.collect()
	w.certify(365 * 24 * time.Hour)
	w.good = w.configuration() + fmt.Sprintf(`api: {listen: ["127.0.0.1:9470"], certificate: %[7]s/api.crt, key: %[7]s/api.key}
log: {sinks: [{name: flows, ipfix: "udp://%[8]s"}]}
jails: [{name: ssh, file: %[1]q, patterns: [sshd]}]
lists: [{name: drop, url: "%[2]s/drop.txt"}]
events: [{name: siem, webhook: "http://%[3]s:8001/"}]
protection: {honeypot: {tcp: [23]}}
dynamic: [{zone: foo.example., dnsmasq: %[4]s/leases, prefixes: [10.0.128.0/20], services: [{ports: [tcp/22]}]}]
chains:
  - name: web
    match: {direction: in, to: %[5]s, protocol: tcp, port: 8000}
    functions:
      - {use: multipath, backends: [{to: %[6]s, port: 8080}], check: {every: 1s, timeout: 1s}}
`, w.journal, w.lists.url, w.Servers[0].IP, w.directory, w.Gateway.Outbound, w.Hosts()[0].IP, w.directory, ipfixAt)
	w.daemon = w.start(w.good)
	eventually(t, 20*time.Second, "its backend is up, and it has its list", func() bool {
		return strings.Contains(w.metrics(), "realmgate_backend_up") && w.daemon.lists()["drop"].Entries == 1
	})
	return w
}

// serveAt serves HTTP at a node until it is closed, or the test ends.
func serveAt(t *testing.T, at netns.Node, port uint16, handler http.Handler) *http.Server {
	t.Helper()
	listener, err := at.Listen("tcp4", netip.AddrPortFrom(at.IP, port).String())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return server
}

func (w *watching) stories(synchronised func(bool)) []story {
	t := w.realm.t
	return []story{
		{
			alert: "RealmgateClockUnsynchronised", at: w.daemon,
			begin: func() { synchronised(false) },
			hints: []hint{{"realmgate doctor", "nobody sets the clock"}},
			end:   func() { synchronised(true) },
		}, {
			alert: "RealmgateReloadFailed", at: w.daemon,
			begin: func() {
				w.write(with(w.good, "capacity: many"))
				if out, err := w.tell("reload"); err == nil {
					t.Error(out)
				}
			},
			hints: []hint{{"realmgate check -c FILE", "capacity"}},
			end: func() {
				w.write(w.good)
				if out, err := w.tell("reload"); err != nil {
					t.Error(out)
				}
			},
			past: true,
		}, {
			alert: "RealmgateJailFailing", at: w.daemon,
			begin: func() { w.must(os.Remove(w.journal)) },
			warns: "jail ssh bans nobody", hints: []hint{{"realmgate jails", "auth.log is gone"}},
			end: func() { w.must(os.WriteFile(w.journal, nil, 0o600)) },
		}, {
			alert: "RealmgateListStale", at: w.daemon,
			begin: func() {
				w.lists.put("/drop.txt")
				for n := range 2 {
					w.refresh(w.lists, "drop", "/drop.txt")
					eventually(t, 10*time.Second, "it has failed", func() bool { return w.daemon.lists()["drop"].Failures == n+1 })
				}
			},
			warns: "list drop is not fetched", hints: []hint{{"realmgate lists", "500"}, {"realmgate lists refresh", "1 list to fetch now"}},
			end: func() {
				w.lists.put("/drop.txt", "203.0.113.0/24")
				w.refresh(w.lists, "drop", "/drop.txt")
			},
		}, {
			alert: "RealmgateBackendDown", at: w.daemon,
			begin: func() { w.must(w.backend.Close()) },
			warns: "1 of 1 backends are down: see realmgate chain show web", hints: []hint{{"realmgate chain show CHAIN", "connection refused"}},
			end: func() { serveAt(t, w.Hosts()[0], 8080, page("backend")) },
		}, {
			alert: "RealmgateSinkFailing", at: w.daemon,
			begin: func() { w.must(w.sink.Close()) },
			warns: "events wait for sink siem", hints: []hint{{"realmgate events", "connection refused"}},
			end: func() { serveAt(t, w.Servers[0], 8001, &hook{}) },
		}, {
			alert: "RealmgateEventsLost", at: w.daemon,
			begin: w.moreEventsThanWait,
			hints: []hint{{"realmgate events", "siem"}},
			past:  true,
		}, {
			alert: "RealmgateDataPlaneUnheard", at: w.daemon,
			begin: w.tellsWhoDoesNotHear,
			past:  true,
		}, {
			alert: "RealmgateInternalDrops", at: w.daemon,
			begin: w.loseAProgram,
			warns: "drop_internal", hints: []hint{{"realmgate bugreport -w report.tar.zst", "The report is "}},
			past: true,
		},
	}
}

// moreEventsThanWait has more hosts register themselves than events wait for a sink that takes none.
func (w *watching) moreEventsThanWait() {
	var leases strings.Builder
	for n := range 1_200 {
		fmt.Fprintf(&leases, "0 02:00:00:00:%02x:%02x 10.0.%d.%d leased%d *\n", n>>8, n&255, 128+n>>8, n&255, n)
	}
	w.must(os.WriteFile(filepath.Join(w.directory, "leases"), []byte(leases.String()), 0o600))
}

// tellsWhoDoesNotHear has the honeypot tell more than its ring has room for, while the daemon gets no CPU.
func (w *watching) tellsWhoDoesNotHear() {
	process := w.daemon.command.Process
	w.must(process.Signal(syscall.SIGSTOP))
	for range 200 {
		if err := connects(w.Clients[1], netip.AddrPortFrom(w.Gateway.PublicAddress, 23)); err != nil {
			w.realm.t.Error(err)
			break
		}
	}
	w.must(process.Signal(syscall.SIGCONT))
}

// loseAProgram is a defect: for a moment the data plane lacks the programs by which it goes on with some packets.
func (w *watching) loseAProgram() {
	table, err := ebpf.LoadPinnedMap(filepath.Join(pins, w.instance, "tcx_programs"), nil)
	w.must(err)
	defer table.Close()
	lost := map[uint32]*ebpf.Program{}
	var slot, number uint32
	for all := table.Iterate(); all.Next(&slot, &number); {
		lost[slot], err = ebpf.NewProgramFromID(ebpf.ProgramID(number))
		w.must(err)
	}
	for slot := range lost {
		w.must(table.Delete(slot))
	}
	eventually(w.realm.t, 20*time.Second, "something was dropped that should not have been", func() bool {
		_, err := visitWithin(w.Clients[0], w.Gateway.Outbound, 8000, 200*time.Millisecond)
		return err != nil && w.counted(model.ReasonDropInternal) > 0
	})
	for slot, program := range lost {
		w.must(table.Put(slot, uint32(program.FD())), program.Close()) //nolint:gosec // a descriptor
	}
}
