package dataplane

import (
	"errors"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Tick is what the data plane counts time in.
const Tick time.Duration = 1 << tickShift

// Age makes sessions, bindings, known clients and quarantined ports look as if their last
// packets had come so much earlier: tests of timers need not wait. No packet may pass
// meanwhile.
func Age(d *datapath.Datapath, by time.Duration) error {
	t, err := tablesOf(d)
	if err != nil {
		return err
	}
	back := uint32((by + 1<<tickShift - 1) >> tickShift)
	return errors.Join(t.ageSessions(back), t.ageMappings(back), t.agePool(back))
}

func (t *tables) ageSessions(back uint32) error {
	var errs []error
	err := datapath.ForEach(t.of["session_table"], func(number uint32, s *typesSession) {
		if typesPhase(s.Life.As.Phase) != typesPhasePHASE_FREE {
			s.Life.As.Stamp -= back
			s.Opened -= back
			errs = append(errs, t.of["session_table"].Update(number, s, ebpf.UpdateExist))
		}
	})
	return errors.Join(append(errs, err)...)
}

// endpointPhase is where struct endpoint keeps its phase in the word that holds
// it whole.
const endpointPhase = 8 * unsafe.Offsetof(typesEndpoint{}.Phase)

func (t *tables) ageMappings(back uint32) error {
	var errs []error
	err := datapath.ForAll(t.of["mapping_table"], func(number uint32, block *typesMappingBlock) {
		changed := false
		for i, word := range block.Endpoint {
			if typesPhase(word>>endpointPhase&0xff) == typesPhasePHASE_QUARANTINED {
				block.Use[i].Users -= back
				changed = true
			}
		}
		if changed {
			errs = append(errs, t.of["mapping_table"].Update(number, block, ebpf.UpdateExist))
		}
	})
	return errors.Join(append(errs, err)...)
}

// agePool ages what bindings and known clients remember.
func (t *tables) agePool(back uint32) error {
	var errs []error
	err := datapath.ForEach(t.of["binding_table"], func(slot uint32, b *typesBinding) {
		if b.Stamp != 0 {
			b.Stamp -= back
			errs = append(errs, t.of["binding_table"].Update(slot, b, ebpf.UpdateExist))
		}
	})
	errs = append(errs, err)
	err = datapath.ForAll(t.of["known_table"], func(place uint32, k *typesKnown) {
		if k.Key != 0 {
			life := knownLifeOf(k.Life)
			k.Life += uint64(life.Stamp-back) - uint64(life.Stamp) // in the low half
			errs = append(errs, t.of["known_table"].Update(place, k, ebpf.UpdateExist))
		}
	})
	return errors.Join(append(errs, err)...)
}
