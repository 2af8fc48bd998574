package page

import (
	"strings"

	"github.com/realmgate/realmgate/internal/api"
)

var now = screen{Name: "now", Path: "/", Title: "Now", Key: "n", Figures: func(ask get) (any, error) {
	var pool api.PoolMap
	if err := ask("/v1/pool/map", &pool); err != nil {
		return nil, err
	}
	return countUses(pool), nil
}}

// uses are what addresses are used for, as people read it.
type uses struct {
	All    int
	Counts []useCount
}

type useCount struct {
	Name, Means string
	Count       int
}

func countUses(pool api.PoolMap) uses {
	count := func(name, letter, means string) useCount {
		return useCount{name, means, strings.Count(pool.States, letter)}
	}
	return uses{len(pool.States), []useCount{
		count("free", "f", "nobody has it"),
		count("bound", "b", "a service has it, and nobody came lately"),
		count("offered", "o", "it was answered, and waits for who asked"),
		count("claimed", "c", "somebody is connected"),
		count("resting", "r", "it was used lately, and is kept for who was there"),
	}}
}
