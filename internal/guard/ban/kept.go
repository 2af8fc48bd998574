package ban

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/store"
)

// Buckets of the file. Their keys are prefixes.
const (
	bansBucket     = "bans"
	offencesBucket = "offences"
)

// keptBan is a ban on the disk; its key is the prefix.
type keptBan struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`
	// Reason is missing where an earlier version kept the ban.
	Reason  string `json:"reason,omitempty"`
	Offence int    `json:"offence,omitempty"`
}

// keptRecord is what an offender did, on the disk.
type keptRecord struct {
	Count int       `json:"count"`
	Until time.Time `json:"until"`
	// Since is missing where an earlier version kept the record.
	Since time.Time `json:"since,omitzero"`
}

// load puts the bans that were kept into force, before any packet is judged, and
// ends those in the kernel that are over or that nobody knows of.
func (s *Service) load() error {
	ended, err := s.read()
	if err != nil {
		return err
	}
	s.save() // without those that are over
	teller{s.Events}.unbanned(ended, Expired)
	if s.guard, err = s.newGuard(); err != nil {
		return err
	}
	return s.syncKernel()
}

// read fills the list and the offences from the file, and returns the bans that are
// over. Where the clock was wrong they are mended.
func (s *Service) read() (ended []netip.Prefix, err error) {
	now, rules := s.now(), s.Rules()
	var kept []Ban
	err = eachKept(s.store, s.Log, bansBucket, func(p netip.Prefix, k keptBan) {
		kept = append(kept, Ban{Prefix: p, Since: k.Since, Until: k.Until, Reason: k.Reason, Offence: k.Offence})
	})
	if err != nil {
		return nil, err
	}
	records := map[netip.Prefix]Record{}
	err = eachKept(s.store, s.Log, offencesBucket, func(p netip.Prefix, k keptRecord) { records[p] = Record(k) })
	if err != nil {
		return nil, err
	}
	s.list.Load(now, kept)
	for _, b := range kept {
		if !s.list.Has(b.Prefix) {
			ended = append(ended, b.Prefix)
		}
	}
	s.unsaved.bans.Remove(ended)
	s.unsaved.offences.Remove(s.offences.Load(now, rules.Memory, records))
	bans, offenders := s.list.Mend(now, rules.Cap), s.offences.Mend(now, rules.Cap)
	if len(bans)+len(offenders) > 0 {
		s.Log.Warn("stored bans moved or shortened", "bans", len(bans), "offenders", len(offenders))
		s.noteChanged(bans, offenders)
	}
	return ended, nil
}

// eachKept calls take for every entry of a bucket. Those that cannot be read stay as they
// are, and the log says how many they are.
func eachKept[T any](s *store.Store, log *slog.Logger, bucket string, take func(netip.Prefix, T)) error {
	var first error
	bad := 0
	err := s.Each(bucket, func(key string, value []byte) error {
		p, err := netip.ParsePrefix(key)
		var kept T
		if err == nil && p != p.Masked() {
			err = fmt.Errorf("not a prefix but an address in one")
		}
		if err = errors.Join(err, json.Unmarshal(value, &kept)); err != nil {
			if bad++; first == nil {
				first = fmt.Errorf("%q: %w", key, err)
			}
			return nil
		}
		take(p, kept)
		return nil
	})
	if bad > 0 {
		log.Error("stored entries not read", "of", bucket, "entries", bad, "first", first)
	}
	return err
}

func keysOf(prefixes []netip.Prefix) []string {
	keys := make([]string, 0, len(prefixes))
	for _, p := range prefixes {
		keys = append(keys, p.Masked().String())
	}
	return keys
}

func bansEdit(made []Ban, removed []netip.Prefix) (store.Edit, error) {
	e := store.Edit{Bucket: bansBucket, Put: make(map[string][]byte, len(made)), Remove: keysOf(removed)}
	for _, b := range made {
		text, err := json.Marshal(keptBan{b.Since, b.Until, b.Reason, b.Offence})
		if err != nil {
			return e, fmt.Errorf("write the ban of %s: %w", b.Prefix, err)
		}
		e.Put[b.Prefix.String()] = text
	}
	return e, nil
}

func offencesEdit(records map[netip.Prefix]Record, forgotten []netip.Prefix) (store.Edit, error) {
	e := store.Edit{Bucket: offencesBucket, Put: make(map[string][]byte, len(records)), Remove: keysOf(forgotten)}
	for p, r := range records {
		text, err := json.Marshal(keptRecord(r))
		if err != nil {
			return e, fmt.Errorf("write the offences of %s: %w", p, err)
		}
		e.Put[p.String()] = text
	}
	return e, nil
}
