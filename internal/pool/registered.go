package pool

import "github.com/realmgate/realmgate/internal/model"

// service is what a name stands for now; nil: nothing.
func (bs *bindings) service(name model.Name) *Service {
	if s, ok := bs.services[name]; ok {
		return s
	}
	if bs.options.Registered == nil {
		return nil
	}
	s, ok := bs.options.Registered(name)
	if !ok {
		return nil
	}
	if s = s.normal(); !s.valid() {
		return nil
	}
	return &s
}

// Registered tells how many services there are now that come and go one by one: Options.Registered finds them. gone are some
// that have gone; they may be there again, as somebody else's, whatever they have in common. Their bindings are withdrawn: take
// those out of the data plane.
func (p *Pool) Registered(count int, gone []model.Name) (withdrawn []Binding) {
	p.registered = count
	p.counts.services.Store(int64(len(p.services) + count))
	for _, name := range gone {
		slot, bound := p.bound[name]
		if _, stays := p.services[name]; stays || !bound {
			continue // SetServices has seen to those that stay
		}
		p.round++
		withdrawn = append(withdrawn, p.withdraw(slot))
	}
	return withdrawn
}
