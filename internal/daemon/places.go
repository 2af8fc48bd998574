package daemon

import "github.com/realmgate/realmgate/internal/guard/geo"

// preparePlaces reads the table of places where the file was read.
func (g guardServices) preparePlaces(d *draft) (_ change, err error) {
	if d.wanted.read {
		d.places, err = geo.PlacesOf(d.config)
	} else {
		d.places = d.before.places
	}
	return change{}, err
}
