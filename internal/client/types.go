package client

import "github.com/realmgate/realmgate/internal/api"

// What the control API speaks of; see package api.
type (
	Status      = api.Status
	Filter      = api.Filter
	Gauge       = api.Gauge
	DNS         = api.DNS
	ReasonCount = api.ReasonCount
	Interface   = api.Interface
	Session     = api.Session
	Reservation = api.Reservation
	Host        = api.Host
	Service     = api.Service
	Drop        = api.Drop
	Reload      = api.Reload
)

// Version returns which build this program is; Status.Version is the daemon's.
func Version() string { return api.Version() }
