package allocation

import "github.com/realmgate/realmgate/internal/datapath"

// adoptEvicted has the pool remember the services whose sessions stand where somebody else has the place by now. Of what
// is configured no more nothing is known.
func (re *restorer) adoptEvicted(bindings []datapath.Binding) {
	for i := range bindings {
		r := &bindings[i]
		s, known := re.service(re.config.Names.Name(r.Name))
		if !r.Open && r.Sessions > 0 && known && s.Host == r.Host {
			re.pool.AdoptEvicted(r.ID, r.Address, s)
		}
	}
}
