package datapath

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
)

// Age makes sessions, bindings, known clients and quarantined ports look as if their last
// packets had come so much earlier. It is for tests of timers, which need not wait then; no
// packet may pass meanwhile.
func (d *sessionTable) Age(by time.Duration) error {
	used, err := d.usedRecords()
	if err != nil {
		return err
	}
	back := ticks(by)
	var session bpfSession
	for _, number := range used {
		if err := d.objects.SessionTable.Lookup(number, &session); err != nil {
			return fmt.Errorf("age session %d: %w", number, err)
		}
		session.Life.As.Stamp -= back
		session.Opened -= back
		if err := d.objects.SessionTable.Update(number, &session, ebpf.UpdateExist); err != nil {
			return fmt.Errorf("age session %d: %w", number, err)
		}
	}
	return errors.Join(d.ageMappings(back), d.agePool(back))
}

// agePool ages what bindings and known clients remember.
func (d *sessionTable) agePool(back uint32) error {
	var errs []error
	err := forEach(d.objects.BindingTable, func(slot uint32, b *bpfBinding) {
		if b.Stamp != 0 {
			b.Stamp -= back
			errs = append(errs, d.objects.BindingTable.Update(slot, b, ebpf.UpdateExist))
		}
	})
	errs = append(errs, err)
	err = forAll(d.objects.KnownTable, func(place uint32, k *bpfKnown) {
		if k.Key != 0 {
			life := knownLifeOf(k.Life)
			k.Life += uint64(life.Stamp-back) - uint64(life.Stamp) // in the low half
			errs = append(errs, d.objects.KnownTable.Update(place, k, ebpf.UpdateExist))
		}
	})
	return errors.Join(append(errs, err)...)
}

// endpointPhase is where struct endpoint keeps its phase in the word that holds
// it whole.
const endpointPhase = 8 * unsafe.Offsetof(bpfEndpoint{}.Phase)

func (d *sessionTable) ageMappings(back uint32) error {
	var errs []error
	err := forAll(d.objects.MappingTable, func(number uint32, block *bpfMappingBlock) {
		changed := false
		for i, word := range block.Endpoint {
			if bpfPhase(word>>endpointPhase&0xff) == bpfPhasePHASE_QUARANTINED {
				block.Use[i].Users -= back
				changed = true
			}
		}
		if changed {
			errs = append(errs, d.objects.MappingTable.Update(number, block, ebpf.UpdateExist))
		}
	})
	return errors.Join(append(errs, err)...)
}
