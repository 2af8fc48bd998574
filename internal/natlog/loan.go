package natlog

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

var steps = map[model.LoanStep]Kind{
	model.Lent: AddressLent, model.Returned: AddressReturned, model.Offered: AddressOffered, model.Claimed: AddressClaimed,
	model.Unused: AddressExpired,
}

// Loan tells what becomes of an address of the pool.
func (s *Service) Loan(l model.Loan) {
	if !s.On() {
		return
	}
	r := loanRecord(l)
	if !s.destinations() {
		r.Client = netip.Addr{}
	}
	r.Host = s.Names().HostOf(l.Host)
	s.Tell(r)
}

func loanRecord(l model.Loan) Record {
	return Record{
		Kind: steps[l.Step], Protocol: l.Port.Protocol, External: netip.AddrPortFrom(l.Address, l.Port.Port),
		Private: netip.AddrPortFrom(l.Host, l.Port.To), Name: string(l.Name), Asker: l.Asker, Client: l.Client,
	}
}
