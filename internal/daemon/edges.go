package daemon

import (
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge"
	"github.com/realmgate/realmgate/internal/names/realm"
)

func (g hostServices) newEdges() *edge.Service {
	return edge.New(edge.Options{
		Plane: func() edge.Plane { return g.data }, Events: &g.events, Keeps: g.plane.Keeps, Now: datapath.Now, Log: g.log,
	}.Sockets())
}

func (g hostServices) prepareEdges(d *draft) (change, error) {
	return g.edges.Prepare(g.store, d.document.File(), realm.Reachable{Realm: d.realm}, d.config.Edges)
}
