package config

import (
	"fmt"

	access "github.com/realmgate/realmgate/internal/access/settings"
)

func renderAPI(line writeLine, a access.API) {
	if len(a.Listen)+len(a.Names)+len(a.Certificate) == 0 {
		return
	}
	line("api:")
	write := func(key, value string, given bool) {
		if given {
			line("  %s: %s", key, value)
		}
	}
	write("listen", list(a.Listen), len(a.Listen) > 0)
	write("names", list(a.Names), len(a.Names) > 0)
	write("certificate", fmt.Sprintf("%q", a.Certificate), a.Certificate != "")
	write("key", fmt.Sprintf("%q", a.Key), a.Key != "")
	write("client_ca", fmt.Sprintf("%q", a.ClientCA), a.ClientCA != "")
	if len(a.Clients) > 0 {
		line("  clients:")
	}
	for _, c := range a.Clients {
		line("    - {name: %q, role: %s}", c.Name, c.Role)
	}
}
