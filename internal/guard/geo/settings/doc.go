// Package settings is what `protection.geofence` and what it judges by. It has no state.
package settings
