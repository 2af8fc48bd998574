package api

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Drop is a packet that was dropped.
type Drop struct {
	Time      time.Time    `json:"time"`
	Reason    model.Reason `json:"reason"`
	Side      string       `json:"side"`
	Interface string       `json:"interface"`
	Tuple     model.Tuple  `json:"tuple"`
	Length    int          `json:"length"`
	Host      string       `json:"host,omitempty"`    // whose private address is in the tuple, where one is
	Country   string       `json:"country,omitempty"` // where the other end is that is outside, where that is known
}

// Outside is the end of the flow that is outside.
func (d *Drop) Outside() netip.Addr {
	if d.Side == "private" {
		return d.Tuple.Destination.Addr()
	}
	return d.Tuple.Source.Addr()
}
