package page

import "github.com/realmgate/realmgate/internal/api"

// names shows what is asked, as it is asked, and what was asked of each name.
var names = screen{Name: "names", Path: "/names", Title: "Names", Key: "q", Inside: true, Figures: func(ask get) (any, error) {
	var rows struct{ Items []api.Name }
	err := ask("/v1/names?limit=200&sort=-asked", &rows)
	return rows.Items, err
}}
