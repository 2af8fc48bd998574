package daemon

import "github.com/realmgate/realmgate/internal/guard/geo"

// prepareGeofences reads the geo table where the file was read.
func (g guardServices) prepareGeofences(d *draft) (_ change, err error) {
	if d.wanted.read {
		d.geofences, err = geo.GeofencesOf(d.config)
	} else {
		d.geofences = d.before.geofences
	}
	return change{}, err
}
