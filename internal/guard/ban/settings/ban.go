package settings

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Bounds of bans that the gateway makes itself.
const (
	mostGrowth    = 100
	mostSubnet    = 256 // addresses of a /24
	mostRegions   = 1024
	longestMemory = 365 * 24 * time.Hour
	usualCap      = 7 * 24 * time.Hour
)

// Bans says how long bans last that the gateway makes itself, as those of jails.
type Bans struct {
	Factor  float64              // 1 to 100: each further offence makes the ban longer by it
	Cap     time.Duration        // 1s to 31536000s: no ban lasts longer
	Memory  time.Duration        // 1m to 31536000s: how long it takes until an offence is forgotten
	Subnet  int                  // 0 to 256 addresses banned at a time until their /24 is; 0: never
	Regions []model.RegionFactor // by 0.01 to 100, each region once
}

// Banner is a section by which addresses are banned: for how long, by its keys.
type Banner interface {
	Bans() iter.Seq2[string, time.Duration]
}

// Draft is `ignoreip` and `bans`.
type Draft struct {
	ignoreIP *[]netip.Prefix
	bans     *Bans
	banners  []Banner
	never    []schema.At[netip.Prefix]
	capLine  int
	regions  []*region
}

type region struct {
	model.RegionFactor
	line int // 0: the region is missing or bad, which has been said
}

// New makes a draft whose values go to ignoreIP and bans. No ban of the banners may be longer than any.
func New(ignoreIP *[]netip.Prefix, bans *Bans, banners ...Banner) *Draft {
	*bans = Bans{Factor: 2, Cap: usualCap, Memory: 24 * time.Hour}
	return &Draft{ignoreIP: ignoreIP, bans: bans, banners: banners}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	b := d.bans
	return []schema.Key{
		schema.Many("ignoreip", &d.never, schema.AnyNetwork(), 0),
		schema.Section(
			"bans",
			schema.One("factor", &b.Factor, schema.Ratio(1, mostGrowth)),
			schema.OneAt("cap", &b.Cap, &d.capLine, schema.Duration(time.Second, model.LongestBan)).Otherwise("604800s, or the longest `bantime` of a jail or of the honeypot"),
			schema.One("memory", &b.Memory, schema.Duration(time.Minute, longestMemory)),
			schema.One("subnet", &b.Subnet, schema.Number(0, mostSubnet)),
			schema.ListOf("regions", &d.regions, (*region).keys).Most(mostRegions),
		),
	}
}

func (r *region) keys() []schema.Key {
	r.Factor = 1
	return []schema.Key{
		schema.OneAt("region", &r.Region, &r.line, place()).Must(),
		schema.One("factor", &r.Factor, schema.Ratio(0.01, mostGrowth)).Must(),
	}
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	*d.ignoreIP = schema.Values(d.never)
	b := d.bans
	for _, banner := range d.banners {
		for whose, first := range banner.Bans() {
			switch {
			case first <= b.Cap:
			case d.capLine == 0:
				b.Cap = first
			default:
				faults.Add(d.capLine, "bans.cap: %s is below %s, %s", schema.ShowDuration(b.Cap), whose, schema.ShowDuration(first))
			}
		}
	}
	once := schema.Once[model.Region]{}
	for i, r := range d.regions {
		if r.line > 0 && once.Take(faults, fmt.Sprintf("bans.regions[%d]", i), r.Region, r.line) {
			b.Regions = append(b.Regions, r.RegionFactor)
		}
	}
}

// place is a country, a continent or an autonomous system.
func place() schema.Kind[model.Region] {
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
