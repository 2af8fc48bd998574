package cli

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// port writes a port; 0 stands for any.
func port(n uint16) string {
	if n == 0 {
		return "any"
	}
	return strconv.Itoa(int(n))
}

// endpoint writes address and port, without what there is not.
func endpoint(e netip.AddrPort) string {
	switch {
	case !e.Addr().IsValid():
		return ""
	case e.Port() == 0:
		return e.Addr().String()
	}
	return e.String()
}

// tuple writes what is known of a packet's tuple.
func tuple(t model.Tuple) string {
	if !t.Source.Addr().IsValid() && !t.Destination.Addr().IsValid() {
		return ""
	}
	return fmt.Sprintf("%s %s > %s", t.Protocol, plain(endpoint(t.Source)), plain(endpoint(t.Destination)))
}

// span writes seconds in the two largest units that matter: 0.4s, 12s, 3m05s,
// 2h07m, 9d04h.
func span(seconds float64) string {
	d := max(0, time.Duration(seconds*float64(time.Second)))
	whole := int64(d / time.Second)
	switch {
	case d < 10*time.Second:
		tenths := int64(d / (100 * time.Millisecond))
		return strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + "s"
	case whole < 60:
		return strconv.FormatInt(whole, 10) + "s"
	case whole < 3600:
		return fmt.Sprintf("%dm%02ds", whole/60, whole%60)
	case whole < 86400:
		return fmt.Sprintf("%dh%02dm", whole/3600, whole/60%60)
	}
	return fmt.Sprintf("%dd%02dh", whole/86400, whole/3600%24)
}

// count writes a number with the thousands apart: 1,234,567.
func count(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// memory writes bytes in KiB or MiB.
func memory(bytes uint64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// many writes "1 host", "2 hosts"; the plural is given where it is irregular.
func many(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
