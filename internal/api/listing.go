package api

import (
	"net/url"
	"reflect"
)

// Listing is what the gateway lists in rows of one type, as GET /v1/NAME and as the command
// realmgate NAME. The tag table of a field is its column's heading, with > in front where it
// ends at the right; a field without it is only in the JSON.
type Listing struct {
	Name    string // of the command, and in the path
	Short   string // what the command does
	Long    string
	Example string
	Row     any      // a zero value
	Key     []string // the fields, by their names in JSON, that tell rows apart
}

// Listings are all of them, in the order of the help.
func Listings() []Listing {
	return []Listing{Names, WebHosts, Edges, Pacts}
}

// Rows returns an empty slice of the rows' type.
func (l Listing) Rows() reflect.Value {
	return reflect.New(reflect.SliceOf(reflect.TypeOf(l.Row)))
}

// listing answers with the rows that a filter lets through.
func listing(l Listing) endpoint {
	return paged(func(g Gateway, query url.Values) (any, error) {
		filter, err := wantFilter(query)
		if err != nil {
			return nil, err
		}
		return g.Listing(l.Name, filter)
	}, l.Key, false)
}
