package method

import (
	"encoding/json"
	"math"
)

// Number is a float64 that JSON holds as null where it is not a number or
// infinite: what was not measured is no zero.
type Number float64

// MarshalJSON returns the number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as not a number.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}
