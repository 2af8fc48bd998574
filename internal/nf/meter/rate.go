package meter

import (
	"errors"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

const (
	fastestRate = 125e9
	slowestRate = 1.0 / 3600
)

// Rate is an amount for each second.
type Rate struct {
	text   string
	Second float64 // bytes, or packets or sessions
	Bytes  bool
}

// String returns the rate as the file gives it.
func (r Rate) String() string { return r.text }

// Amount is a rate as the file gives it: an amount for each second: bits or bytes, or packets and the like.
func Amount(bytes, events bool) schema.Kind[Rate] {
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
