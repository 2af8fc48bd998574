package api

import (
	"net/http"
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
	Row     any // a zero value
}

// Listings are all of them, in the order of the help.
func Listings() []Listing {
	return []Listing{Names, WebHosts}
}

// Rows returns an empty slice of the rows' type, to decode JSON into.
func (l Listing) Rows() reflect.Value {
	return reflect.New(reflect.SliceOf(reflect.TypeOf(l.Row)))
}

// withListings adds a route for each.
func withListings(routes map[string]endpoint) map[string]endpoint {
	for _, l := range Listings() {
		routes["GET /v1/"+l.Name] = listing(l)
	}
	return routes
}

// listing answers with the rows that a filter lets through.
func listing(l Listing) endpoint {
	return func(h handler, w http.ResponseWriter, _ *http.Request, query url.Values) error {
		filter, err := wantFilter(query)
		if err != nil {
			return err
		}
		rows, err := h.gateway.Listing(l.Name, filter)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, rows)
	}
}
