package allocation

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
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
		if _, ok := qs.service(service); !ok {
			delete(qs.tally, service)
		}
	}
}

// Names lists the services, by name, with what was asked of them. There may be many, so that questions do not wait for it.
func (qs *questions) Names(filter api.Filter) []api.Name {
	qs.mutex.Lock()
	names, services, tally, at := qs.config.Names, qs.services, make(map[model.Name]asked, len(qs.tally)), map[model.Name]netip.Addr{}
	for name, n := range qs.tally {
		tally[name] = *n
	}
	for b := range qs.pool.Bindings() {
		if b.State == pool.Bound {
			at[b.Service.Name] = b.Address
		}
	}
	qs.mutex.Unlock()
	list := []api.Name{}
	row := func(s pool.Service) {
		row := api.Name{Service: s.Name.String(), Host: s.Owner.String(), Ports: s.Ports, Address: at[s.Name]}
		if n, was := tally[s.Name]; was {
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
	for _, s := range services { // take makes another, and changes none
		row(s)
	}
	names.EachRegistered(row)
	slices.SortFunc(list, func(x, y api.Name) int { return cmp.Compare(x.Service, y.Service) })
	return list
}
