package page

import "github.com/realmgate/realmgate/internal/api"

// mostEdges is how many edges, and how many pacts, are listed: of pacts those that were used last.
const mostEdges = "200"

var edges = screen{Name: "edges", Path: "/edges", Title: "Edges", Key: "l", Inside: true, Figures: func(ask get) (any, error) {
	var f struct {
		Edges rowsOf[api.Edge]
		Pacts rowsOf[api.Pact]
	}
	err := ask("/v1/edges?limit="+mostEdges, &f.Edges)
	if err == nil {
		err = ask("/v1/pacts?sort=-used&limit="+mostEdges, &f.Pacts)
	}
	return f, err
}}
