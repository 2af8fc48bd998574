package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/protect/ban"
	"github.com/realmgate/realmgate/internal/store"
)

// stateDirectory is where a file for each instance keeps what outlives restarts.
const stateDirectory = "/var/lib/realmgate"

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
}

// loadBans puts the bans that were kept into force, before any packet is judged, and
// ends those in the kernel that are over or that nobody knows of.
func (g *Gateway) loadBans() (err error) {
	if g.bans.store, err = store.Open(filepath.Join(stateDirectory, g.options.Instance+".db")); err != nil {
		return err
	}
	now := time.Now()
	var kept []ban.Ban
	err = eachKept(g.bans.store, bansBucket, func(p netip.Prefix, k keptBan) {
		kept = append(kept, ban.Ban{Prefix: p, Since: k.Since, Until: k.Until, Reason: k.Reason, Offence: k.Offence})
	})
	if err != nil {
		return err
	}
	g.bans.list.Load(now, kept)
	var ended []netip.Prefix
	for _, b := range kept {
		if !g.bans.list.Has(b.Prefix) {
			ended = append(ended, b.Prefix)
		}
	}
	over := store.Edit{Bucket: bansBucket, Remove: keysOf(ended)}
	records := map[netip.Prefix]ban.Record{}
	err = eachKept(g.bans.store, offencesBucket, func(p netip.Prefix, k keptRecord) { records[p] = ban.Record{Count: k.Count, Until: k.Until} })
	if err != nil {
		return err
	}
	forgotten := g.bans.offences.Load(now, g.view.Load().config.Bans.Memory, records)
	if err := g.bans.store.ChangeAll(over, store.Edit{Bucket: offencesBucket, Remove: keysOf(forgotten)}); err != nil {
		return err
	}
	g.emitUnbans(ended, events.Expired)
	if g.bans.guard, err = g.newGuard(nil); err != nil {
		return err
	}
	return g.syncBans()
}

// eachKept calls take for every entry of a bucket.
func eachKept[T any](s *store.Store, bucket string, take func(netip.Prefix, T)) error {
	return s.Each(bucket, func(key string, value []byte) error {
		p, err := netip.ParsePrefix(key)
		var kept T
		if err = errors.Join(err, json.Unmarshal(value, &kept)); err != nil {
			return fmt.Errorf("%s of %q: %w", bucket, key, err)
		}
		take(p, kept)
		return nil
	})
}

func keysOf(prefixes []netip.Prefix) []string {
	keys := make([]string, 0, len(prefixes))
	for _, p := range prefixes {
		keys = append(keys, p.Masked().String())
	}
	return keys
}

func bansEdit(made []ban.Ban, removed []netip.Prefix) (store.Edit, error) {
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

func offencesEdit(records map[netip.Prefix]ban.Record, forgotten []netip.Prefix) (store.Edit, error) {
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
