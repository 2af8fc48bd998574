package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/lab"
)

// A million sessions are listed to the last, as a table and as JSON. It measures: the aim is 2 s.
func TestMillionSessionsListed(t *testing.T) {
	lab.LengthyOnly(t)
	const all, rounds = 1_000_000, 5
	r := newRealm(t, netns.Options{Hosts: 1})
	d := r.start(with(r.configuration(), "capacity: 1500000", "limits: {host_sessions: 0, host_rate: 0}"))
	host := r.Hosts()[0]
	r.opens(d, host, 203, all)
	for _, output := range []string{"table", "json"} {
		for range rounds {
			file, err := os.Create(filepath.Join(r.directory, output))
			if err != nil {
				t.Fatal(err)
			}
			list := r.Gateway.Command(t.Context(), program, "sessions", "-o", output, "--instance", d.instance)
			list.Stdout = file
			began := time.Now()
			err = list.Run()
			took := time.Since(began)
			if closed := file.Close(); err != nil || closed != nil {
				t.Fatal(err, closed)
			}
			text, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			listed := bytes.Count(text, []byte(fmt.Sprintf("%s:20", host.IP)))
			t.Logf("%s: %d sessions, %d octets in %s", output, listed, len(text), took.Round(time.Millisecond))
			if listed != all {
				t.Errorf("%s: %d of %d sessions are listed", output, listed, all)
			}
		}
	}
}

// opens has a host begin n sessions with addresses of a /8, which is empty, and returns how long it took.
func (r *realm) opens(d *daemon, host netns.Node, net byte, n int) time.Duration {
	r.t.Helper()
	r.must(r.Router.Command(r.t.Context(), "ip", "route", "replace", "blackhole", fmt.Sprintf("%d.0.0.0/8", net)).Run())
	frames := r.frames(host, r.Gateway.Private[0], n, func(i int) packets.Packet {
		var remote [4]byte
		binary.BigEndian.PutUint32(remote[:], uint32(net)<<24|uint32(i>>4))
		return packets.NewTCP(netip.AddrPortFrom(host.IP, uint16(2000+i&15)), netip.AddrPortFrom(netip.AddrFrom4(remote), 443), packets.SYN, "")
	})
	before, began := d.status().Sessions.Used, time.Now()
	_, stop := r.onslaught(host, 10_000_000, frames) // over and over, as links lose some
	defer stop()
	eventually(r.t, 3*time.Minute, fmt.Sprintf("there are %d more", n), func() bool { return d.status().Sessions.Used >= before+uint64(n) })
	return time.Since(began)
}
