package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
)

// drops shows which packets do not pass, why, and from where.
var drops = screen{Name: "drops", Path: "/drops", Title: "Drops", Key: "d", Figures: func(ask get) (any, error) {
	var s api.Status
	err := ask("/v1/status", &s)
	rows := slices.DeleteFunc(s.Reasons, func(r api.ReasonCount) bool { return !strings.HasPrefix(string(r.Reason), "drop_") })
	slices.SortFunc(rows, func(x, y api.ReasonCount) int { return cmp.Compare(y.Packets, x.Packets) })
	return rows, err
}}
