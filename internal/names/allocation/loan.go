package allocation

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

// Loans hear what becomes of the pool's addresses. They keep nobody waiting.
type Loans interface{ Loan(model.Loan) }

// tellBinding tells of each port of a binding.
func (st *state) tellBinding(step model.LoanStep, b *pool.Binding) {
	if st.options.Loans == nil {
		return
	}
	for _, p := range b.Service.Ports {
		st.options.Loans.Loan(loanOf(step, b, p))
	}
}

func loanOf(step model.LoanStep, b *pool.Binding, p model.Port) model.Loan {
	return model.Loan{Step: step, Address: b.Address, Host: b.Service.Host, Port: p, Name: b.Service.Name}
}

// tellAnswer tells what became of an answer.
func (st *state) tellAnswer(step model.LoanStep, r *pool.Reservation, client netip.Addr) {
	if st.options.Loans == nil {
		return
	}
	if b, ok := st.pool.Binding(r.Binding); ok {
		st.options.Loans.Loan(model.Loan{Step: step, Address: b.Address, Host: b.Service.Host, Name: r.Name, Asker: r.Requester, Client: client})
	}
}

// Lent visits each port of the pool's addresses that leads to a host. The pool goes on meanwhile: who visits may wait for a disk.
func (a *Allocator) Lent(visit func(model.Loan)) {
	for _, l := range lentOf(a) {
		visit(l)
	}
}

func lentOf(a *Allocator) (all []model.Loan) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for b := range a.pool.Bindings() {
		if b.State != pool.Bound {
			continue
		}
		for _, p := range b.Service.Ports {
			all = append(all, loanOf(model.Lent, &b, p))
		}
	}
	return all
}
