package settings

import (
	"github.com/realmgate/realmgate/internal/schema"
)

// Band says which reputation a service needs for an address when the pool is that full. Each is from 0 to 1.
type Band struct {
	Load, Service, Host float64
}

type bandEntry struct {
	band     Band
	loadLine int
}

func (b *bandEntry) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("load", &b.band.Load, &b.loadLine, schema.Ratio(0, 1)).Must(),
		schema.One("service", &b.band.Service, schema.Ratio(0, 1)).Must(),
		schema.One("host", &b.band.Host, schema.Ratio(0, 1)).Must(),
	}
}

// finishBands takes the bands of the file, if it has some, which must be in the order of their loads.
func (d *Draft) finishBands(faults *schema.Faults) {
	if len(d.bands) == 0 {
		return
	}
	d.pool.Bands = nil
	for i, b := range d.bands {
		if i > 0 && b.loadLine > 0 && b.band.Load <= d.bands[i-1].band.Load {
			faults.Add(b.loadLine, "pool.bands[%d].load: %s is not above the %s before it", i, schema.ShowRatio(b.band.Load), schema.ShowRatio(d.bands[i-1].band.Load))
		}
		d.pool.Bands = append(d.pool.Bands, b.band)
	}
}
