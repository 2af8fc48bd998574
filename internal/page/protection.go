package page

import "github.com/realmgate/realmgate/internal/api"

// mostBans is how many bans are listed where there is no script: those that began last.
const mostBans = "200"

var protection = screen{Name: "protection", Path: "/protection", Title: "Protection", Key: "b", Figures: func(ask get) (any, error) {
	var f struct {
		Bans  rowsOf[api.Ban]
		Lists rowsOf[api.List]
		Jails rowsOf[api.Jail]
	}
	err := ask("/v1/bans?sort=-since&limit="+mostBans, &f.Bans)
	if err == nil {
		err = ask("/v1/lists", &f.Lists)
	}
	if err == nil {
		err = ask("/v1/jails", &f.Jails)
	}
	return f, err
}}
