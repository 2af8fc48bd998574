package advice

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// Reasons for which somebody inside, or outside, gets nothing because others have it, and those for which a
// stranger is refused at the pool.
var (
	takenInside = []model.Reason{
		model.ReasonDropHostSessions, model.ReasonDropHostPorts, model.ReasonDropHostRate, model.ReasonDropNoPort, model.ReasonDropSessionTableFull, model.ReasonDropSessionIndexFull,
		model.ReasonDropMappingIndexFull,
	}
	takenOutside = []model.Reason{
		model.ReasonDropRemoteSessions, model.ReasonDropRemoteRate, model.ReasonDropBindingSessions, model.ReasonDropMappingSessions, model.ReasonDropSessionTableFull,
		model.ReasonDropSessionIndexFull,
	}
	refusedOutside = []model.Reason{
		model.ReasonDropNoReservation, model.ReasonDropClaimUnproved, model.ReasonDropClaimLost, model.ReasonDropClientLimit, model.ReasonDropRemoteSessions, model.ReasonDropRemoteRate,
		model.ReasonDropMappingSessions, model.ReasonDropBindingSessions, model.ReasonDropFiltered,
	}
)

const (
	takersNamed = 3
	takenShare  = 0.1 // who has less of what is used is not named
	// Drops are looked at for so long, when so many lately say that it is worth it; who has sent
	// a share of them is named.
	refusedLook  = 100 * time.Millisecond
	refusedMany  = 1000
	refusedLeast = 20
	refusedShare = 0.1
)

func (t totals) sum(reasons []model.Reason) (n uint64) {
	for _, reason := range reasons {
		n += t.reasons[reason]
	}
	return n
}

// takers names who has much of what others did not get lately, and who is refused most just now,
// each with the command that stops it.
func (s *Service) takers(t totals, sessions int) (list []string) {
	c := s.Config()
	if t.sum(takenInside) > 0 {
		hosts, err := s.data.Subscribers()
		if err != nil {
			s.Log.Warn("busiest hosts not read", "error", err)
		}
		list = append(list, hostTakers(hosts, c, sessions, t.reasons[model.ReasonDropNoPort] > 0)...)
	}
	if t.sum(takenOutside) > 0 {
		remotes, err := s.data.Remotes()
		if err != nil {
			s.Log.Warn("busiest remote addresses not read", "error", err)
		}
		list = append(list, remoteTakers(remotes, c.Limits.RemoteSessions, t.fullest(c, sessions))...)
	}
	if t.sum(refusedOutside) >= refusedMany {
		list = append(list, refusedTakers(s.refusedNow())...)
	}
	return list
}

// most are the keys of the greatest values, above none, the greatest first.
func most[V any](of map[netip.Addr]V, value func(V) int) []netip.Addr {
	addresses := slices.SortedFunc(maps.Keys(of), func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(value(of[b]), value(of[a])), a.Compare(b))
	})
	return addresses[:min(len(addresses), takersNamed)]
}

// fullest is the least that strangers fill when they are refused: all sessions, or those of one service or port.
func (t totals) fullest(c *config.Config, sessions int) int {
	for reason, limit := range map[model.Reason]int{model.ReasonDropBindingSessions: c.Limits.BindingSessions, model.ReasonDropMappingSessions: c.Limits.MappingSessions} {
		if t.reasons[reason] > 0 && limit > 0 {
			sessions = min(sessions, limit)
		}
	}
	return sessions
}

// much is a share that is worth a name.
func much(n, of int) bool { return n > 0 && float64(n) >= takenShare*float64(of) }

// full is whether a limit is reached; 0 is none.
func full(n, limit int) bool { return limit > 0 && n >= limit }

// hostTakers names hosts with much of all sessions, or of all ports where those are short, or that are at a limit.
func hostTakers(hosts map[netip.Addr]datapath.Subscriber, c *config.Config, sessions int, short bool) (list []string) {
	opened, ports := 0, 0
	for _, s := range hosts {
		opened, ports = opened+s.Sessions, ports+s.UDP+s.TCP+s.ICMP
	}
	weight := func(s datapath.Subscriber) int { return s.Sessions + s.UDP + s.TCP + s.ICMP }
	for _, a := range most(hosts, weight) {
		s := hosts[a]
		limited := full(s.Sessions, c.Limits.HostSessions) || full(s.UDP, c.Limits.HostPorts.UDP) || full(s.TCP, c.Limits.HostPorts.TCP) || full(s.ICMP, c.Limits.HostPorts.ICMP)
		if !limited && !much(s.Sessions, sessions) && (!short || !much(s.UDP+s.TCP+s.ICMP, ports)) {
			continue
		}
		list = append(list, fmt.Sprintf("host %s is among those inside that have most: %d sessions, and ports: udp %d, tcp %d, icmp %d; "+
			"%s (somebody on its link may do it in its name); to end them: realmgate sessions end --address %s", a, s.Sessions, s.UDP, s.TCP, s.ICMP, stopHost(a), a))
	}
	if len(list) == 0 && (much(opened, sessions) || short) {
		list = append(list, fmt.Sprintf("%d hosts inside share what is used, none has a tenth of it or all that it may have: they may be forged, and keeping one out would not help", len(hosts)))
	}
	return list
}

// remoteTakers names strangers with much of what is used, or all that one may have. Who forges its source has many, none
// of which is named.
func remoteTakers(remotes map[netip.Addr]int, limit, used int) (list []string) {
	opened := 0
	for _, n := range remotes {
		opened += n
	}
	for _, a := range most(remotes, func(n int) int { return n }) {
		if full(remotes[a], limit) || much(remotes[a], used) {
			list = append(list, fmt.Sprintf("%s is among those outside that have most sessions open: %d; to stop it: realmgate ban add %s", a, remotes[a], a))
		}
	}
	if len(list) == 0 && much(opened, used) {
		list = append(list, fmt.Sprintf("%d sources outside share what is used (%d sessions), none has a tenth of it: they may be forged, and bans would not stop them", len(remotes), opened))
	}
	return list
}

// refusedTakers tells of sources in a sample of drops. Who forges its source has many, none of which is named.
func refusedTakers(refused map[netip.Addr]int) (list []string) {
	all := 0
	for _, n := range refused {
		all += n
	}
	if all < refusedLeast {
		return nil
	}
	for _, a := range most(refused, func(n int) int { return n }) {
		if share := float64(refused[a]) / float64(all); share >= refusedShare {
			list = append(list, fmt.Sprintf("%s sends %.0f %% of what is refused from outside just now; to stop it: realmgate ban add %s", a, 100*share, a))
		}
	}
	if len(list) == 0 {
		list = append(list, fmt.Sprintf("what is refused from outside just now has many sources (%d of %d packets): they may be forged, and bans would not stop them",
			len(refused), all))
	}
	return list
}

// refusedNow counts the sources of what is refused from outside while it looks.
func (s *Service) refusedNow() map[netip.Addr]int {
	counts := map[netip.Addr]int{}
	drops, err := s.Drops.Join()
	if err != nil {
		return counts
	}
	defer s.Drops.Leave(drops)
	end := time.After(refusedLook)
	for {
		select {
		case <-end:
			return counts
		case drop := <-drops:
			if refusesOutside(drop) {
				counts[drop.Tuple.Source.Addr()]++
			}
		}
	}
}

func refusesOutside(d api.Drop) bool {
	return d.Side == "public" && slices.Contains(refusedOutside, d.Reason)
}
