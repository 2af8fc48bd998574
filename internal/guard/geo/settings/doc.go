// Package settings is what `protection.geofence`, `monitored_ports` and `geo_table` say: where flows may come from and go to,
// which are asked about, and what tells where addresses are. It has no state.
package settings
