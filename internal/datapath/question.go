package datapath

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"time"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/siphash"
)

// Lent is a set of types of DNS questions (bpf/question/types.h).
type Lent uint8

// The types that can be in the set.
const (
	LentA     = Lent(bpfLentTypeLENT_A)
	LentAAAA  = Lent(bpfLentTypeLENT_AAAA)
	LentHTTPS = Lent(bpfLentTypeLENT_HTTPS)
)

// HeartbeatLasts is how long questions are answered without another Heartbeat.
const HeartbeatLasts = 5 * time.Second

// Heartbeat tells the programs that the name server lives, and the secrets of its
// cookies, this one and the one before it: for HeartbeatLasts they tell askers who have
// proved nothing to come by TCP.
func (d *questionTable) Heartbeat(secrets [2][16]byte) error {
	now := Now()
	state := bpfQuestionState{
		Until: uint64(now.Add(HeartbeatLasts)), Wall: uint64(time.Now().UnixNano() - int64(now)),
	}
	for i, secret := range secrets {
		state.Secret[i] = [2]uint64{binary.LittleEndian.Uint64(secret[:8]), binary.LittleEndian.Uint64(secret[8:])}
	}
	return d.putQuestionState(&state)
}

// StopHeartbeat leaves all questions to the name server, or to the kernel if there is none.
func (d *questionTable) StopHeartbeat() error { return d.putQuestionState(&bpfQuestionState{}) }

func (d *questionTable) putQuestionState(state *bpfQuestionState) error {
	if err := d.objects.QuestionStates.Put(uint32(0), state); err != nil {
		return fmt.Errorf("tell the programs that the name server lives: %w", err)
	}
	return nil
}

// SetLentNames replaces the names that the programs answer for. Those that the table has
// no room for are left to the name server; left is how many.
func (d *questionTable) SetLentNames(names map[model.Name]Lent) (left int, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	wanted := make(map[uint64]Lent, len(names))
	for name, types := range names {
		if len(wanted) == int(d.objects.LentNames.MaxEntries()) {
			left++
			continue
		}
		wanted[d.nameHash(name)] = types
	}
	there := map[uint64]Lent{}
	var hash uint64
	var types Lent
	entries := d.objects.LentNames.Iterate()
	for entries.Next(&hash, &types) {
		there[hash] = types
	}
	if err := entries.Err(); err != nil {
		return left, fmt.Errorf("list the lent names: %w", err)
	}
	for hash := range there {
		if _, ok := wanted[hash]; ok {
			continue
		}
		if err := d.objects.LentNames.Delete(hash); err != nil {
			return left, fmt.Errorf("remove a lent name: %w", err)
		}
	}
	maps.DeleteFunc(wanted, func(hash uint64, types Lent) bool { return there[hash] == types })
	for hash, types := range wanted {
		if err := d.objects.LentNames.Update(hash, types, ebpf.UpdateAny); err != nil {
			return left, fmt.Errorf("put a lent name: %w", err)
		}
	}
	return left, nil
}

// nameHash is question_name_hash of bpf/question/question.h.
func (d *questionTable) nameHash(name model.Name) uint64 {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], d.layout.Seed[0])
	binary.LittleEndian.PutUint64(key[8:], d.layout.Seed[1])
	wire := make([]byte, 0, len(name)+1)
	for label := range strings.SplitSeq(strings.TrimSuffix(string(name), "."), ".") {
		wire = append(append(wire, byte(len(label))), label...)
	}
	return siphash.Sum(&key, append(wire, 0))
}

// Await leaves the asker's next questions to the name server, which wants to see them,
// for a while. Who takes its place in the table is seen instead.
func (d *questionTable) Await(asker netip.Addr, long time.Duration) {
	if !asker.Is4() {
		return
	}
	address := asker.As4()
	place := binary.BigEndian.Uint32(address[:]) * 0x9e3779b1 >> 20 // as in bpf/question/side.h
	until := uint32((Now() + model.Instant(long)) >> tickShift)
	_ = d.objects.AwaitedAskers.Put(place, uint64(until)<<32|uint64(networkOrder(asker)))
}
