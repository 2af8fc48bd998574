package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Bounds of bans that the gateway makes itself.
const (
	mostGrowth     = 100
	mostSubnet     = 256 // addresses of a /24
	mostBanRegions = 1024
	longestMemory  = 365 * 24 * time.Hour
	usualCap       = 7 * 24 * time.Hour
)

// Bans says how long bans last that the gateway makes itself, as those of watches.
type Bans struct {
	Factor  float64       // 1 to 100: each further offence makes the ban longer by it
	Cap     time.Duration // 1s to 31536000s: no ban lasts longer
	Memory  time.Duration // 1m to 31536000s: how long it takes until an offence is forgotten
	Subnet  int           // 0 to 256 addresses banned at a time until their /24 is; 0: never
	Regions []BanRegion   // each region once
}

// BanRegion makes bans of a region's addresses longer, or shorter.
type BanRegion struct {
	Region model.Region
	Factor float64 // 0.01 to 100
}

type bansDraft struct {
	capLine, regionsLine int
	regions              []*banRegionDraft
}

type banRegionDraft struct {
	region BanRegion
	line   int
}

func (d *draft) bansKeys() []schema.Key {
	b := &d.config.Bans
	return []schema.Key{
		schema.One("factor", &b.Factor, ratio(1, mostGrowth)),
		schema.OneAt("cap", &b.Cap, &d.bans.capLine, schema.Duration(second, model.LongestBan)).Otherwise("604800s, or the longest `ban` of a watch or of the honeypot"),
		schema.One("memory", &b.Memory, schema.Duration(minute, longestMemory)),
		schema.One("subnet", &b.Subnet, schema.Number(0, mostSubnet)),
		schema.Noting(&d.bans.regionsLine, schema.ListOf("regions", &d.bans.regions, (*banRegionDraft).keys)),
	}
}

func (r *banRegionDraft) keys() []schema.Key {
	r.region.Factor = 1
	return []schema.Key{
		schema.OneAt("region", &r.region.Region, &r.line, region()).Must(),
		schema.One("factor", &r.region.Factor, ratio(0.01, mostGrowth)).Must(),
	}
}

// finishBans checks that no watch bans for longer than any ban lasts.
func (d *draft) finishBans() {
	b := &d.config.Bans
	atLeast := func(first time.Duration, whose string) {
		switch {
		case first <= b.Cap:
		case d.bans.capLine == 0:
			b.Cap = first
		default:
			d.faults.Add(d.bans.capLine, "bans.cap: %s is below %s, %s", schema.ShowDuration(b.Cap), whose, schema.ShowDuration(first))
		}
	}
	for i, w := range d.config.Watches {
		atLeast(w.Ban, fmt.Sprintf("watches[%d].ban", i))
	}
	if h := d.config.Protection.Honeypot; !h.Ports.Empty() {
		atLeast(h.Ban, ProtectionName+".honeypot.ban")
	}
	if len(d.bans.regions) > mostBanRegions {
		d.faults.Add(d.bans.regionsLine, "bans.regions: there are %d, at most %d are allowed", len(d.bans.regions), mostBanRegions)
		return
	}
	seen := map[model.Region]int{}
	for i, r := range d.bans.regions {
		if r.line == 0 {
			continue // it is missing or bad, which has been said
		}
		if first, twice := seen[r.region.Region]; twice {
			d.faults.Add(r.line, "bans.regions[%d]: %s is already listed at line %d", i, r.region.Region, first)
			continue
		}
		seen[r.region.Region] = r.line
		b.Regions = append(b.Regions, r.region)
	}
}

// region is a country, a continent or an autonomous system.
func region() schema.Kind[model.Region] {
	return schema.Kind[model.Region]{
		Name: "region", Allowed: "as country:FI, continent:EU or asn:64500", Want: "country:FI, continent:EU or asn:64500", Tags: schema.TextTag,
		Show: model.Region.String,
		Parse: func(text string) (model.Region, error) {
			r, err := model.ParseRegion(text)
			if errors.Is(err, model.ErrNoRegion) {
				return r, schema.ErrNoHint
			}
			return r, err
		},
	}
}

// ratio is a number with decimals, least to most.
func ratio(least, most float64) schema.Kind[float64] {
	bounds := fmt.Sprintf("%s to %s, as 2 or 1.5", showRatio(least), showRatio(most))
	return schema.Kind[float64]{
		Name: "number", Allowed: bounds, Want: "a number of " + bounds, Tags: []string{"!!int", "!!float"},
		Show: showRatio,
		Parse: func(text string) (float64, error) {
			n, err := strconv.ParseFloat(text, 64)
			// Digits alone: no exponents, no hexadecimal digits, no "inf".
			if err != nil || strings.Trim(text, "0123456789.") != "" || !(n >= least && n <= most) {
				return 0, schema.ErrNoHint
			}
			return n, nil
		},
	}
}

func showRatio(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
