package ability

import (
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// mostShown bounds the names of certificates in a row.
const mostShown = 16

// Rows are what is known of the hosts that a filter lets through, in the order of the configuration.
func (s *Service) Rows(filter api.Filter) []api.WebHost {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	list := []api.WebHost{}
	for i := range s.known.hosts {
		if row := s.known.row(&s.known.hosts[i], time.Now()); filter.MatchWebHost(row) {
			list = append(list, row)
		}
	}
	return list
}

// row is what is known of a host: the least that its endpoints can, and all the names of their certificates.
func (k *known) row(h *Host, now time.Time) api.WebHost {
	row := api.WebHost{Host: h.Name.String(), Inside: h.Address, Address: k.at[h.Name], State: api.WebUnknown, Certificate: []string{}}
	for _, site := range h.Sites {
		row.Ports = append(row.Ports, site.Ports...)
	}
	of := k.endpoints[h.Name]
	if len(of) == 0 {
		return row
	}
	asked, down, seen := true, 0, map[model.Name]bool{}
	row.Scale = true
	for _, to := range of {
		r := k.of[to]
		row.Scale = row.Scale && r.can.Scale
		if r.asked.After(row.Asked) {
			row.Asked = r.asked.UTC()
		}
		if asked = asked && r.known; r.err != nil {
			down++
		}
		row.Left += r.left
		for _, name := range r.names {
			switch {
			case seen[name]:
			case len(row.Certificate) == mostShown:
				row.Left++
			default:
				seen[name] = true
				row.Certificate = append(row.Certificate, name.String())
			}
		}
	}
	if asked {
		row.State = api.WebAsked
		p := k.promises(h.Name, now)
		row.MSS, row.SACK, row.Timestamps = p.MSS, p.SACK, p.Timestamps
	}
	if down > 0 {
		row.State = api.WebDown
	}
	return row
}
