package page

import "github.com/realmgate/realmgate/internal/api"

// ring shows what each address is used for, and who has it.
var ring = screen{Name: "ring", Path: "/ring", Title: "Ring", Key: "p", Inside: true, Figures: func(ask get) (any, error) {
	var pool api.PoolMap
	if err := ask("/v1/pool/map", &pool); err != nil {
		return nil, err
	}
	var rows struct{ Items []api.Binding }
	err := ask("/v1/pool?limit=200", &rows)
	return struct {
		uses
		Rows []api.Binding
	}{countUses(pool), rows.Items}, err
}}
