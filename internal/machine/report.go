package machine

import (
	"fmt"
	"os"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
)

// Report says that the kernel looks at no neighbour before it chooses a next hop.
func (m *Machine) Report(s *api.Status) error {
	const setting = "net.ipv4.fib_multipath_use_neigh"
	value, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(setting, ".", "/"))
	if n := m.sharing(); n > 0 && err == nil && strings.TrimSpace(string(value)) == "0" {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d next hops share routes: sysctl -w %s=1, or one that fails gets its flows all the same (nexthop objects do not need it)", n, setting))
	}
	return nil
}
