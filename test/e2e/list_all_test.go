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
	r.command("router", "ip", "route", "add", "blackhole", "203.0.0.0/8")
	d := r.start(with(r.configuration(), "capacity: 1500000", "limits: {host_sessions: 0, host_rate: 0}"))
	host := r.Hosts()[0]
	frames := r.frames(host, r.Gateway.Private[0], all, func(i int) packets.Packet {
		var remote [4]byte
		binary.BigEndian.PutUint32(remote[:], 203<<24|uint32(i>>4))
		return packets.NewTCP(netip.AddrPortFrom(host.IP, uint16(2000+i&15)), netip.AddrPortFrom(netip.AddrFrom4(remote), 443), packets.SYN, "")
	})
	_, stop := r.onslaught(host, 10_000_000, frames) // over and over, as links lose some
	defer stop()
	eventually(t, 3*time.Minute, "there are a million", func() bool { return d.status().Sessions.Used >= all })
	stop()
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
