package daemon

import (
	"log/slog"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/handover"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/names/shared"
	"github.com/realmgate/realmgate/internal/plane"
)

// Options say what to run.
type Options struct {
	ConfigFile string
	// Instance names pins and lock; several instances may run in several
	// network namespaces.
	Instance string
	// Socket is the path of the control API's Unix socket.
	Socket string
	// KeepDataplane leaves sessions and programs in the kernel at a clean stop.
	KeepDataplane bool
	// Next is the program that takes over when the gateway hands over; nil: it ends then.
	Next   *handover.Program
	Logger *slog.Logger
}

// services are all that the data plane is to open.
func (v *view) services() []datapath.Service {
	return slices.Concat(shared.Ways(v.realm.Registry.Services()), v.dnat.Ports, v.shared().Kept())
}

func (g nameServices) allocationConfig(v *view) allocation.Config {
	return allocation.ConfigOf(v.config, realm.Lendable{Realm: v.realm}, plane.Reservations(v.config), g.plane.Sizes.Bindings,
		func(a netip.Addr, p model.Protocol, port uint16) bool { return g.blocked(v, a, p, port) })
}
