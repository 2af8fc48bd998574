package datapath

import (
	"hash/maphash"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/mounts"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/meter"
	"github.com/realmgate/realmgate/internal/nf/mirror"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
)

// dryRun opens dry runs of the form under test; build makes their chains, nil for none.
func (g *gateway) dryRun(build datapath.BuildChains) *datapath.Dry {
	g.t.Helper()
	var dry *datapath.Dry
	g.in(func() (err error) {
		if dry, err = g.data.OpenDry(datapath.Mode(*modeFlag)); err == nil {
			err = dry.SetChains(build)
		}
		return err
	})
	g.t.Cleanup(func() { check(g.t, dry.Close()) })
	return dry
}

// dryEnd is how a packet that nobody sent ends.
func (g *gateway) dryEnd(dry *datapath.Dry, public bool, frame []byte) model.Reason {
	g.t.Helper()
	return g.dryLent(dry, public, frame, datapath.Lease{})
}

// dryLent is dryEnd of one whose destination is taken to be lent.
func (g *gateway) dryLent(dry *datapath.Dry, public bool, frame []byte, lent datapath.Lease) (end model.Reason) {
	g.t.Helper()
	g.in(func() error {
		ifindex := g.private
		if public {
			ifindex = g.public
		}
		steps, err := dry.Run(datapath.Frame{Public: public, Ifindex: ifindex, Octets: frame}, lent)
		for _, s := range steps {
			if s.Kind == datapath.TraceEnd && !end.IsDrop() {
				end = g.data.Reason(s.Says)
			}
		}
		return err
	})
	return end
}

var contentSeed = maphash.MakeSeed()

// contents are hashes of what is in all tables of a gateway that is pinned, by their names.
func (g *gateway) contents() map[string]uint64 {
	g.t.Helper()
	outer, _ := mounts.Outer()
	root := must(mounts.Path(outer, "/sys/fs/bpf"))(g.t)
	all := map[string]uint64{}
	for _, path := range must(filepath.Glob(filepath.Join(root, "realmgate", g.instance, "*")))(g.t) {
		table, err := ebpf.LoadPinnedMap(path, nil)
		if err != nil || table.Type() == ebpf.RingBuf || table.Type() == ebpf.ProgramArray {
			continue // a link, or nothing that has values
		}
		all[filepath.Base(path)] = g.contentsOf(table)
		check(g.t, table.Close())
	}
	if len(all) < 40 {
		g.t.Fatalf("only %d tables are there", len(all))
	}
	return all
}

func (g *gateway) contentsOf(table *ebpf.Map) (sum uint64) {
	if table.Flags()&unix.BPF_F_MMAPABLE != 0 {
		memory := must(table.Memory())(g.t)
		value := make([]byte, memory.Size())
		_, err := memory.ReadAt(value, 0)
		check(g.t, err)
		return maphash.Bytes(contentSeed, value)
	}
	key, err := table.NextKeyBytes(nil)
	for ; key != nil && err == nil; key, err = table.NextKeyBytes(key) {
		sum += maphash.Bytes(contentSeed, append(slices.Clone(key), must(table.LookupBytes(key))(g.t)...))
	}
	check(g.t, err)
	return sum
}

// A dry run changes no octet of any table, whatever its packet meets.
func TestDryRunChangesNoTable(t *testing.T) {
	t.Parallel()
	g := newGateway(t, timeouts(func(s *datapath.Settings) { s.Refuse = true }))
	g.lend(pool1, 80, service, nil)
	g.established(endpoint(remote, 50000), lent, service)
	g.lend(pool1, 80, service, nil)
	g.mapped(udp(inA, server))
	policy := nf.Policy{Chains: []nf.Chain{{Name: "all", Rules: []nf.Rule{{}}, Steps: []nf.Step{
		{Name: "all/meter", Number: 1, Function: ratelimit.RateLimit{Meter: meter.Meter{Per: meter.PerSource, Unit: meter.Packets, Rate: 1, Burst: time.Minute, Entries: 4}}},
		{Name: "all/mirror", Number: 2, Function: mirror.Mirror{}},
	}}}}
	g.in(func() error { return g.enforce(policy) })
	dry := g.dryOf(policy)
	for _, c := range []struct {
		public bool
		packet packets.Packet
		want   model.Reason
	}{
		{false, udp(inA, server), "forwarded"},
		{false, udp(inB, server), "forwarded"},
		{false, udp(inB, server2), "forwarded"},
		{false, packets.NewTCP(inA, server, packets.SYN, ""), "forwarded"},
		{false, packets.NewTCP(inA, server, packets.ACK, ""), "drop_not_syn"},
		{false, packets.NewEcho(hostA, remote, 7, 1), "forwarded"},
		{false, packets.NewIP(hostA, remote, model.ESP, make([]byte, 40)), "forwarded"},
		{false, udp(inA, lent), "drop_no_binding"},
		{false, packets.NewTCP(inB, lent, packets.SYN, ""), "forwarded"},
		{true, packets.NewTCP(endpoint(remote2, 1024), lent, packets.SYN, ""), "forwarded"},
		{true, packets.NewTCP(endpoint(remote, 50000), lent, packets.ACK, ""), "forwarded"},
		{true, packets.NewTCP(endpoint(remote, 50001), lent, packets.SYN, ""), "forwarded"},
		{true, udp(endpoint(remote, 1024), lent), "drop_no_binding"},
		{true, udp(server, endpoint(outbound, inA.Port())), "forwarded"},
		{true, packets.NewTCP(server, endpoint(publicAddress, 22), packets.SYN, ""), "to_gateway"},
		{true, udp(server, endpoint(remote2, 22)), "drop_not_for_us"},
	} {
		changed := g.changed(func() {
			if end := g.dryEnd(dry, c.public, c.packet.Bytes()); end != c.want {
				t.Errorf("%v: %s, want %s", c.packet, end, c.want)
			}
		})
		if len(changed) > 0 {
			t.Errorf("%v changed %v", c.packet, changed)
		}
	}
}
