package functions

import (
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/ask"
	"github.com/realmgate/realmgate/internal/nf/connlimit"
	"github.com/realmgate/realmgate/internal/nf/dnat"
	"github.com/realmgate/realmgate/internal/nf/dosdenial"
	"github.com/realmgate/realmgate/internal/nf/filter"
	"github.com/realmgate/realmgate/internal/nf/firstbytes"
	"github.com/realmgate/realmgate/internal/nf/jump"
	"github.com/realmgate/realmgate/internal/nf/mirror"
	"github.com/realmgate/realmgate/internal/nf/multipath"
	"github.com/realmgate/realmgate/internal/nf/object"
	"github.com/realmgate/realmgate/internal/nf/ratelimit"
)

// All are the functions, in the order in which messages and the reference name them.
var All = []nf.Kind{
	filter.Kind,
	dosdenial.Kind,
	ratelimit.Kind,
	connlimit.Kind,
	jump.Kind,
	dnat.Kind,
	multipath.Kind,
	firstbytes.Kind,
	ask.Kind,
	mirror.Kind,
	object.Kind,
}
