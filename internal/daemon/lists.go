package daemon

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/realmgate/realmgate/internal/guard/lists"
)

func (g guardServices) newLists() *lists.Service {
	return lists.New(lists.Options{
		Folder: filepath.Join(stateDirectory, g.options.Instance+".lists"), Events: &g.events, Take: g.takeLists,
		InForce: func() lists.Contents { return g.view.Load().lists }, Log: g.log,
	})
}

// prepareLists gives a draft what lists have.
func (g guardServices) prepareLists(d *draft) (c change, err error) {
	if d.wanted.read {
		d.lists, c, err = g.lists.Prepare(d.config.Lists)
	}
	return c, err
}

// takeLists puts what the lists have now into force, as a reload would; what has failed
// is tried again after the next refresh.
func (g guardServices) takeLists(ctx context.Context) error {
	g.changing.Lock()
	defer g.changing.Unlock()
	if ctx.Err() != nil {
		return nil // a reload has ended the list, or we stop
	}
	old := g.view.Load()
	now, left := g.lists.Contents()
	if maps.Equal(now, old.lists) {
		return left
	}
	next := old.next(wanted{document: old.document, outbound: old.outbound, lists: now})
	if err := g.services.Apply(next); err != nil {
		return errors.Join(left, err)
	}
	var changed []string
	for name, set := range now {
		if set != old.lists[name] {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	g.log.Info("lists changed", "lists", changed, "generation", next.generation)
	return left
}
