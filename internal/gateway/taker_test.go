package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

func numbered(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) }

// Those who have most are named, the greatest first, each with what stops it, and no more than three.
func TestTakersAreNamed(t *testing.T) {
	hosts, remotes := map[netip.Addr]datapath.Subscriber{}, map[netip.Addr]int{}
	for n := range 10 {
		hosts[numbered(n)] = datapath.Subscriber{Sessions: n, TCP: 2 * n}
		remotes[numbered(n)] = n
	}
	for what, list := range map[string][]string{"sessions end --address": hostTakers(hosts), "ban add": remoteTakers(remotes)} {
		if len(list) != takersNamed {
			t.Fatal(list)
		}
		for i, line := range list {
			if want := fmt.Sprintf("realmgate %s 10.0.0.%d", what, 9-i); !strings.HasSuffix(line, want) {
				t.Errorf("%q does not end with %s", line, want)
			}
		}
	}
}

// Who sends much of what is refused is named; of forged sources none is.
func TestRefusedSourcesAreNamed(t *testing.T) {
	refused := map[netip.Addr]int{}
	for n := range 100 {
		refused[numbered(n)] = 1
	}
	if list := refusedTakers(refused); len(list) != 1 || !strings.Contains(list[0], "forged") {
		t.Error(list)
	}
	refused[numbered(7)] = 300
	if list := refusedTakers(refused); len(list) != 1 || !strings.HasSuffix(list[0], "realmgate ban add 10.0.0.7") {
		t.Error(list)
	}
	if list := refusedTakers(map[netip.Addr]int{numbered(1): refusedLeast - 1}); list != nil {
		t.Error(list)
	}
}

// A host that has reached its limit is named as long as the refusals are recent, and nobody where nothing is refused.
func TestStatusNamesWhoTakes(t *testing.T) {
	r := newRig(t, text+"limits: {host_sessions: 1}\n")
	r.routed()
	hosta, foreign := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("203.0.113.5")
	named := func(refused uint64) bool {
		list := r.takers(totals{reasons: map[model.Reason]uint64{"drop_host_sessions": refused}})
		return len(list) == 1 && strings.HasSuffix(list[0], "realmgate sessions end --address "+hosta.String())
	}
	r.send(false, flow{direction: model.Out, protocol: model.TCP, source: hosta, destination: foreign, port: 80}.packet(r.view.Load()))
	if named(0) || !named(1) {
		t.Errorf("named with nothing refused %v, else %v", named(0), named(1))
	}
}

func TestTakersAreOfReasonsThatExist(t *testing.T) {
	known := datapath.ReasonNames()
	for _, list := range [][]model.Reason{takenInside, takenOutside, refusedOutside} {
		for _, reason := range list {
			if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+string(reason)+" ") {
				t.Errorf("%s is no reason", reason)
			}
		}
	}
}
