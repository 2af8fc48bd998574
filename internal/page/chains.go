package page

import "github.com/realmgate/realmgate/internal/api"

var chains = screen{Name: "chains", Path: "/chains", Title: "Chains", Key: "c", Figures: func(ask get) (any, error) {
	var all rowsOf[api.Chain]
	err := ask("/v1/chains", &all)
	return all, err
}}
