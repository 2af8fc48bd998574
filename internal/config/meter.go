package config

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

// Meter says how much may come, to dos-denial and rate-limit.
type Meter struct {
	Mode    Mode
	Rate    Rate
	New     bool          // new sessions are counted
	Window  time.Duration // 0: a token bucket, which has Burst
	Burst   time.Duration
	Per     Per
	Entries int
}

// Mode is how dos-denial counts.
type Mode uint8

// The modes.
const (
	ModeWindow Mode = iota // too much in one window: the next is dropped whole
	ModeBucket
	ModeSYN // a token bucket of TCP's SYNs
)

// String returns the word of the configuration.
func (m Mode) String() string {
	return schema.Word(int(m), "mode", "window", "token-bucket", "syn-rate")
}

// Per is whose packets are counted together.
type Per uint8

// What packets may have in common.
const (
	PerFlow Per = iota
	PerSource
	PerHost
	PerService
	PerPacket // none: a function of the user's own sees each
)

// String returns the word of the configuration.
func (p Per) String() string {
	return schema.Word(int(p), "per", "flow", "source", "host", "service", "packet")
}

// Rate is an amount for each second.
type Rate struct {
	text   string
	Second float64 // bytes, or packets or sessions
	Bytes  bool
}

// String returns the rate as the file gives it.
func (r Rate) String() string { return r.text }

const (
	defaultWindow  = 10 * time.Second // Hanna's
	defaultBurst   = time.Second
	defaultEntries = 65536
	mostEntries    = 1 << 22
	largestPacket  = 1500 // bytes that a bucket must hold
	fastestRate    = 125e9
	slowestRate    = 1.0 / 3600
)

func (f *functionDraft) meterKeys() []schema.Key {
	m := &f.function.Meter
	if m.Entries == 0 {
		m.Window, m.Burst, m.Entries = defaultWindow, defaultBurst, defaultEntries
	}
	return f.particular(
		schema.One("threshold", &m.Rate, rate(true, true)).Otherwise("none"),
		schema.One("new", &m.Rate, rate(false, true)).Otherwise("none"),
		schema.One("packets", &m.Rate, rate(false, true)).Otherwise("none"),
		schema.One("bytes", &m.Rate, rate(true, false)).Otherwise("none"),
		schema.One("mode", &m.Mode, schema.Choice(ModeWindow, ModeBucket, ModeSYN)),
		schema.One("window", &m.Window, schema.Duration(100*time.Millisecond, time.Hour)),
		schema.One("burst", &m.Burst, schema.Duration(time.Millisecond, time.Hour)),
		schema.One("per", &m.Per, schema.Choice(PerFlow, PerSource, PerHost, PerService, PerPacket)).Otherwise("flow, and source for rate-limit and syn-rate"),
		schema.One("entries", &m.Entries, schema.Number(1024, mostEntries)),
	)
}

func (f *functionDraft) checkDenial(faults *schema.Faults, path string) {
	m := &f.function.Meter
	line, given := f.gave("threshold")
	if !given {
		faults.Add(line, "%s: the key threshold is missing", path)
	}
	if m.Mode == ModeSYN && m.Rate.Bytes {
		faults.Add(line, "%s.threshold: SYNs are counted: want a rate as 100/s", path)
	}
	if line, given := f.gave("window"); given && m.Mode != ModeWindow {
		faults.Add(line, "%s.window: %s has none: it has burst", path, m.Mode)
	}
	if line, given := f.gave("burst"); given && m.Mode == ModeWindow {
		faults.Add(line, "%s.burst: mode window has none: it has window", path)
	}
	line, given = f.gave("per")
	if !given && m.Mode == ModeSYN {
		m.Per = PerSource
	}
	if m.Per > PerSource {
		faults.Add(line, "%s.per: want flow or source, not %s", path, m.Per)
	}
	if m.Mode == ModeWindow {
		m.Burst = 0
		return
	}
	m.Window = 0
	f.checkBurst(faults, path)
}

func (f *functionDraft) checkLimit(faults *schema.Faults, path string) {
	m := &f.function.Meter
	ways, count := []string{"new", "packets", "bytes"}, 0
	for _, way := range ways {
		if _, given := f.gave(way); given {
			m.New = way == "new"
			count++
		}
	}
	if count != 1 {
		faults.Add(f.line, "%s: give one of %s", path, strings.Join(ways, ", "))
	}
	line, given := f.gave("per")
	if !given {
		m.Per = PerSource
	}
	if m.Per == PerFlow || m.Per == PerPacket {
		faults.Add(line, "%s.per: want source, host or service, not %s", path, m.Per)
	}
	m.Window = 0
	f.checkBurst(faults, path)
}

// checkBurst: what holds less than a packet lets none through.
func (f *functionDraft) checkBurst(faults *schema.Faults, path string) {
	m := &f.function.Meter
	least := 1.0
	if m.Rate.Bytes {
		least = largestPacket
	}
	if m.Rate.Second > 0 && m.Rate.Second*m.Burst.Seconds() < least {
		line, _ := f.gave("burst")
		faults.Add(line, "%s.burst: at %s the bucket holds less than a packet: want at least %s", path, m.Rate,
			schema.ShowDuration(time.Duration(least/m.Rate.Second*float64(time.Second)).Round(time.Millisecond)+time.Millisecond))
	}
}

// rate is an amount for each second: bits or bytes, or packets and the like.
func rate(bytes, events bool) schema.Kind[Rate] {
	var forms []string
	if bytes {
		forms = append(forms, "100Mbit", "10MB/s")
	}
	if events {
		forms = append(forms, "50/s")
	}
	as := "a rate as " + strings.Join(forms, " or ")
	return schema.Kind[Rate]{
		Name: "rate", Allowed: "as " + strings.Join(forms, " or "), Want: as, Tags: schema.TextTag, Show: Rate.String,
		Parse: func(text string) (Rate, error) {
			digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/")
			unit, known := rateUnits[text[len(digits):]]
			n, err := strconv.ParseFloat(digits, 64)
			if !known || err != nil || unit.bytes && !bytes || !unit.bytes && !events {
				return Rate{}, schema.ErrNoHint
			}
			r := Rate{text, n * unit.second, unit.bytes}
			if !(r.Second >= slowestRate && r.Second <= fastestRate) {
				return Rate{}, errors.New("from one an hour to 1000Gbit")
			}
			return r, nil
		},
	}
}

// rateUnits: bits as tc writes them, in powers of ten.
var rateUnits = map[string]struct {
	second float64
	bytes  bool
}{
	"bit": {1.0 / 8, true}, "kbit": {1e3 / 8, true}, "Mbit": {1e6 / 8, true}, "Gbit": {1e9 / 8, true},
	"B/s": {1, true}, "kB/s": {1e3, true}, "MB/s": {1e6, true}, "GB/s": {1e9, true},
	"/s": {1, false}, "/m": {1.0 / 60, false}, "/h": {1.0 / 3600, false},
}
