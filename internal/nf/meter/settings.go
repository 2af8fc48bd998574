package meter

import (
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

const (
	defaultBurst   = time.Second
	defaultEntries = 65536
	mostEntries    = 1 << 22
	largestPacket  = 1500 // bytes that a bucket must hold
)

// String returns the word of the configuration.
func (p Per) String() string { return schema.Word(int(p), "per", "flow", "source", "host", "service") }

// BurstKey is the key of a token bucket's size, which is left at its default.
func BurstKey(target *time.Duration) schema.Key {
	*target = defaultBurst
	return schema.One("burst", target, schema.Duration(time.Millisecond, time.Hour))
}

// EntriesKey is the key of how many meters there are, which is left at its default.
func EntriesKey(target *int) schema.Key {
	*target = defaultEntries
	return schema.One("entries", target, schema.Number(1024, mostEntries))
}

// CheckBurst says that what holds less than a packet lets none through.
func CheckBurst(s *schema.Given, rate Rate, burst time.Duration) {
	least := 1.0
	if rate.Bytes {
		least = largestPacket
	}
	if rate.Second > 0 && rate.Second*burst.Seconds() < least {
		line, _ := s.Has("burst")
		s.Add(line, "%s.burst: at %s the bucket holds less than a packet: want at least %s", s.Path, rate,
			schema.ShowDuration(time.Duration(least/rate.Second*float64(time.Second)).Round(time.Millisecond)+time.Millisecond))
	}
}

// UnitOf is what is counted at a rate: bytes, or else packets.
func UnitOf(rate Rate) Unit {
	if rate.Bytes {
		return Bytes
	}
	return Packets
}
