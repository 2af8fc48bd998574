package api

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Summary is how many sessions there are of each kind.
type Summary struct {
	By       string  `json:"by"`
	Sessions int     `json:"sessions"` // of all kinds
	Groups   []Group `json:"groups"`   // the largest first; of equal ones by their names
	Others   int     `json:"others"`   // sessions of groups that are not listed
}

// Group is the sessions of a kind.
type Group struct {
	Key      string `json:"key"` // such as "tcp", "203.0.113.0/24" or "DE"; empty: nothing is known
	Sessions int    `json:"sessions"`
}

// How many groups a summary lists.
const (
	usualTop = 20
	mostTop  = 1000
)

// kinds say which group a session is of. There are few groups, or as many as the configuration has; of networks strangers can
// make many.
var kinds = map[string]func(Gateway, *Session) string{
	"host":     func(_ Gateway, s *Session) string { return s.Host },
	"name":     func(_ Gateway, s *Session) string { return s.Name },
	"country":  func(g Gateway, s *Session) string { return g.Country(s.Remote.Addr()) },
	"protocol": func(_ Gateway, s *Session) string { return s.Protocol.String() },
	"state":    func(_ Gateway, s *Session) string { return s.State },
	"origin":   func(_ Gateway, s *Session) string { return s.Origin },
	"remote24": nil, // see countNetworks
}

func summaryKinds() []string { return slices.Sorted(maps.Keys(kinds)) }

func summaryParameters() []Parameter {
	return []Parameter{
		{Name: "by", Short: "What sessions of a group have in common; remote24 is the /24 of the peer outside, or its /48 of IPv6.", Required: true, Values: summaryKinds()},
		{Name: "top", Short: fmt.Sprintf("The most groups: 1 to %d, %d where it is left out.", mostTop, usualTop), Integer: true},
	}
}

func (h handler) summary(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	by, err := take(query, "by")
	if err != nil {
		return failed(err)
	}
	of, known := kinds[by]
	if !known {
		return failed(fmt.Errorf("by: %q is no kind of sessions: use %s", by, strings.Join(summaryKinds(), ", ")))
	}
	text, err := take(query, "top")
	top := usualTop
	if err == nil && text != "" {
		if top, err = strconv.Atoi(text); err != nil || top < 1 || top > mostTop {
			err = fmt.Errorf("top: %q is not a number from 1 to %d", text, mostTop)
		}
	}
	if err != nil {
		return failed(err)
	}
	filter, err := wantFilter(query)
	if err != nil {
		return err
	}
	s, err := h.count(of, filter, top)
	if err != nil {
		return err
	}
	s.By = by
	return reply(w, http.StatusOK, s)
}

// count counts for one at a time: of several each would take the memory.
func (h handler) count(of func(Gateway, *Session) string, filter Filter, top int) (Summary, error) {
	h.summarizing.Lock()
	defer h.summarizing.Unlock()
	if of != nil {
		return countKinds(h.gateway, of, filter, top)
	}
	return countNetworks(h.gateway, filter, top)
}

// tally is how many sessions have a key.
type tally[K cmp.Ordered] struct {
	key      K
	sessions int
}

// summaryOf keeps the largest groups.
func summaryOf[K cmp.Ordered](tallies []tally[K], top int, text func(K) string) Summary {
	s := Summary{Groups: []Group{}}
	slices.SortFunc(tallies, func(x, y tally[K]) int {
		return cmp.Or(cmp.Compare(y.sessions, x.sessions), cmp.Compare(x.key, y.key))
	})
	for i, t := range tallies {
		s.Sessions += t.sessions
		if i < top {
			s.Groups = append(s.Groups, Group{text(t.key), t.sessions})
		} else {
			s.Others += t.sessions
		}
	}
	return s
}

func countKinds(g Gateway, of func(Gateway, *Session) string, filter Filter, top int) (Summary, error) {
	counts := map[string]int{}
	err := g.Sessions(filter, 0, func(s Session) bool {
		counts[of(g, &s)]++
		return true
	})
	var tallies []tally[string]
	for key, n := range counts {
		tallies = append(tallies, tally[string]{key, n})
	}
	return summaryOf(tallies, top, func(key string) string { return key }), err
}

// countNetworks sorts a number for each session: a map of a million networks would take several times the room.
func countNetworks(g Gateway, filter Filter, top int) (Summary, error) {
	var networks []uint64
	err := g.Sessions(filter, 0, func(s Session) bool {
		networks = append(networks, networkOf(s.Remote.Addr()))
		return true
	})
	slices.Sort(networks)
	var tallies []tally[uint64]
	for i, n := range networks {
		if i == 0 || n != networks[i-1] {
			tallies = append(tallies, tally[uint64]{key: n})
		}
		tallies[len(tallies)-1].sessions++
	}
	return summaryOf(tallies, top, networkText), err
}

const (
	ipv4Network = 1 << 48 // marks a /24
	noNetwork   = 1 << 49
)

// networkOf is the /24 of an IPv4 address, or the /48 of an IPv6 address, as a number.
func networkOf(a netip.Addr) uint64 {
	switch {
	case a.Is4():
		octets := a.As4()
		return ipv4Network | uint64(binary.BigEndian.Uint32(octets[:])>>8)
	case a.Is6():
		octets := a.As16()
		return binary.BigEndian.Uint64(octets[:8]) >> 16
	}
	return noNetwork
}

func networkText(n uint64) string {
	var octets [16]byte
	switch {
	case n&noNetwork != 0:
		return ""
	case n&ipv4Network != 0:
		binary.BigEndian.PutUint32(octets[:4], uint32(n)<<8)
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(octets[:4])), 24).String()
	}
	binary.BigEndian.PutUint64(octets[:8], n<<16)
	return netip.PrefixFrom(netip.AddrFrom16(octets), 48).String()
}
