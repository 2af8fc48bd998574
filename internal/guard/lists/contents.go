package lists

import (
	"errors"
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
)

// Contents are the addresses of lists, by name. A list without any is not there.
type Contents map[string]*model.AddressSet

// Of are the addresses of a list. There are none where nothing was ever fetched, as in a
// check of a file.
func (c Contents) Of(name string) *model.AddressSet {
	if set := c[name]; set != nil {
		return set
	}
	return &model.AddressSet{}
}

// contentsOf are what feeds have, of at most most runs of addresses. A list that finds no
// room keeps what it had before, or is empty; the error says which. A set that is as
// before is the same one, so that a new date in a list does not make all sessions be
// judged again.
func contentsOf(list []*fetched, before Contents, most int) (Contents, error) {
	now := Contents{}
	var errs []error
	for _, f := range list {
		l, name := f.List(), f.config.Name
		if l == nil {
			continue
		}
		set := l.Addresses
		was := before.Of(name)
		if was.Equal(set) {
			set = was
		}
		if set.Len() > most {
			errs = append(errs, fmt.Errorf("list %s: the copy has %d runs of addresses, and the lists before it leave room for %d: it is not in force",
				name, set.Len(), most))
			set = was
		}
		if n := set.Len(); n > 0 && n <= most {
			most -= n
			now[name] = set
		}
	}
	return now, errors.Join(errs...)
}
