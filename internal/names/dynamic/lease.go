package dynamic

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Lease is what a source says of a host.
type Lease struct {
	Address netip.Addr
	Name    string    // as the host says it; "": it has none
	Client  string    // who it is for whoever gave the lease
	Ends    time.Time // the zero value: never
}

// errNotOurs is of lines that are right and about something else.
var errNotOurs = errors.New("it is about no IPv4 lease")

// over reports that a lease has ended.
func (l Lease) over(now time.Time) bool { return !l.Ends.IsZero() && !now.Before(l.Ends) }

// autodiscovered are labels that programs ask for by themselves and trust whoever has them: nobody gets one by saying that it
// is its name.
var autodiscovered = map[string]bool{"wpad": true, "isatap": true, "localhost": true}

// nameIn is the name in a zone of a host that calls itself so: a label, or that and the zone.
func nameIn(zone model.Name, said string) (model.Name, error) {
	label := strings.TrimSuffix(said, ".")
	if below, of, dotted := strings.Cut(label, "."); dotted {
		if !strings.EqualFold(of+".", zone.String()) {
			return "", fmt.Errorf("%q is not right below %s", said, zone)
		}
		label = below
	}
	switch {
	case strings.ContainsAny(label, "_."):
		return "", fmt.Errorf("%q is no host's name", said)
	case autodiscovered[strings.ToLower(label)]:
		return "", fmt.Errorf("%q is a name that programs trust whoever has it", said)
	}
	name, err := model.ParseName(label + "." + zone.String())
	if err != nil {
		return "", err
	}
	return name, nil
}
