package settings

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// A host must take 576 octets (RFC 9293); jumbo frames are 9,000.
const (
	leastMSS = 536
	mostMSS  = 8960
)

func mss() schema.Kind[model.MSS] {
	n := schema.Number(leastMSS, mostMSS)
	allowed := fmt.Sprintf("auto, off or %s", n.Allowed)
	return schema.Kind[model.MSS]{
		Name: "word or number", Allowed: allowed, Want: allowed, Tags: []string{"!!str", "!!int"}, Bounds: n.Bounds,
		Words: []string{model.MSSAuto.String(), model.MSSOff.String()}, Open: true,
		Show: model.MSS.String,
		Parse: func(text string) (model.MSS, error) {
			for _, word := range []model.MSS{model.MSSAuto, model.MSSOff} {
				if text == word.String() {
					return word, nil
				}
			}
			octets, err := n.Parse(text)
			return model.MSS(octets), err //nolint:gosec // n.parse keeps it within its bounds
		},
	}
}
