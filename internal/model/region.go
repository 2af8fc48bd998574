package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Region names the addresses of a country, a continent or an autonomous system. The
// zero value names none and is in no policy. Regions can be compared.
type Region struct {
	kind regionKind
	code string // of a country or a continent
	asn  uint32
}

type regionKind uint8

const (
	byCountry regionKind = iota + 1
	byContinent
	byASN
)

// Country returns the country's code, "" where the region is none.
func (r Region) Country() string {
	if r.kind != byCountry {
		return ""
	}
	return r.code
}

// Continent returns the continent's code, "" where the region is none.
func (r Region) Continent() string {
	if r.kind != byContinent {
		return ""
	}
	return r.code
}

// ASN returns the autonomous system's number, 0 where the region is none.
func (r Region) ASN() uint32 { return r.asn }

// String writes the region as ParseRegion reads it.
func (r Region) String() string {
	switch r.kind {
	case byCountry:
		return "country:" + r.code
	case byContinent:
		return "continent:" + r.code
	case byASN:
		return fmt.Sprintf("asn:%d", r.asn)
	}
	return "none"
}

// ErrNoRegion is of a text that is not written as a region.
var ErrNoRegion = errors.New("want country:FI, continent:EU or asn:64500")

// ParseRegion reads "country:FI", "continent:EU" or "asn:64500". The codes of six
// countries, or of what is used as one, are those of continents too (AF, AN, AS, EU, NA,
// SA), so that a code alone is refused.
func ParseRegion(text string) (Region, error) {
	kind, value, ok := strings.Cut(text, ":")
	if !ok {
		if hint := meant(text); hint != "" {
			return Region{}, errors.New(hint)
		}
		return Region{}, fmt.Errorf("%s: %w", quoted(text), ErrNoRegion)
	}
	switch kind {
	case "country":
		return parseCountry(value)
	case "continent":
		return parseContinent(value)
	case "asn":
		return parseASN(value)
	}
	return Region{}, fmt.Errorf("%s: %w", quoted(text), ErrNoRegion)
}

// meant says what a code alone may stand for.
func meant(text string) string {
	upper := strings.ToUpper(text)
	country, continent := IsCountry(upper), IsContinent(upper)
	switch {
	case country && continent:
		return fmt.Sprintf("there are both country:%s and continent:%s", upper, upper)
	case country:
		return "there is country:" + upper
	case continent:
		return "there is continent:" + upper
	}
	return ""
}

func parseCountry(text string) (Region, error) {
	if IsCountry(text) {
		return Region{kind: byCountry, code: text}, nil
	}
	hint := meant(text)
	if strings.EqualFold(text, "UK") {
		hint = "there is country:GB"
	}
	return Region{}, hinting(fmt.Sprintf("no country has the code %s of ISO 3166-1", quoted(text)), hint)
}

func parseContinent(text string) (Region, error) {
	if IsContinent(text) {
		return Region{kind: byContinent, code: text}, nil
	}
	var list []string
	for _, c := range Continents {
		list = append(list, c.Code+" ("+c.Name+")")
	}
	return Region{}, hinting(fmt.Sprintf("no continent has the code %s: use %s", quoted(text), strings.Join(list, ", ")), meant(text))
}

func hinting(wrong, hint string) error {
	if hint == "" {
		return errors.New(wrong)
	}
	return errors.New(wrong + "; " + hint)
}

func parseASN(text string) (Region, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	// 0 is nobody's (RFC 7607), and each number is written in one way.
	if err != nil || n == 0 || text != strconv.FormatUint(n, 10) {
		return Region{}, fmt.Errorf("want the number of an autonomous system, 1 to 4294967295, not %s", quoted(text))
	}
	return Region{kind: byASN, asn: uint32(n)}, nil
}

// quoted shows text in an error, cut where it is long.
func quoted(text string) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

// RegionFactor makes something of a region's addresses longer, or shorter.
type RegionFactor struct {
	Region Region
	Factor float64
}
