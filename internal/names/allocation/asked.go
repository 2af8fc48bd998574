package allocation

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// asked is what the questions for a service came to.
type asked struct {
	lent, refused uint64
	asker         netip.Addr // the last
	at            time.Time  // when it asked
	why           error      // of the last refusal; formatted when it is listed
}

// noteAsked counts a question that is over. A service that a reload took away meanwhile has no count.
func (qs *questions) noteAsked(q nameserver.Question, err error) {
	qs.mutex.Lock()
	defer qs.mutex.Unlock()
	_, service, ok := qs.config.Names.Find(q.Name)
	if !ok {
		return
	}
	if qs.tally == nil {
		qs.tally = map[model.Name]*asked{}
	}
	n := qs.tally[service]
	if n == nil {
		n = &asked{}
		qs.tally[service] = n
	}
	n.asker, n.at = q.Client.Addr(), qs.options.Wall()
	if err != nil {
		n.refused++
		n.why = err
		return
	}
	n.lent++
}

// forgetAsked forgets services that are no more.
func (qs *questions) forgetAsked() {
	for service := range qs.tally {
		if _, ok := qs.services[service]; !ok {
			delete(qs.tally, service)
		}
	}
}

// Names lists the services, by name, with what was asked of them.
func (qs *questions) Names(filter api.Filter) []api.Name {
	qs.mutex.Lock()
	defer qs.mutex.Unlock()
	list := []api.Name{}
	for name, s := range qs.services {
		row := api.Name{Service: name.String(), Host: s.Owner.String(), Ports: s.Ports}
		if b, ok := qs.pool.Standing(name); ok {
			row.Address = b.Address
		}
		if n := qs.tally[name]; n != nil {
			row.Asked, row.Lent, row.Refused = n.lent+n.refused, n.lent, n.refused
			row.Asker, row.Last = n.asker, n.at
			if n.why != nil {
				row.Why = n.why.Error()
			}
		}
		if filter.MatchName(row) {
			list = append(list, row)
		}
	}
	slices.SortFunc(list, func(x, y api.Name) int { return cmp.Compare(x.Service, y.Service) })
	return list
}
