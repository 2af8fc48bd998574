package page

import "github.com/realmgate/realmgate/internal/api"

var sessions = screen{Name: "sessions", Path: "/sessions", Title: "Sessions", Key: "s", Flows: true, Figures: func(ask get) (any, error) {
	var hosts api.Summary
	err := ask("/v1/sessions/summary?by=host", &hosts)
	return hosts, err
}}
