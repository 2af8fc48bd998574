package handover

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/datapath"
)

// Check says whether a start of this version keeps the sessions of an instance, and changes nothing.
func Check(instance string) error { return named(instance, datapath.CanAdopt(instance)) }

// Prepare is Check for the version that takes over next: the kernel verifies its programs, too, while the one before serves.
func Prepare(instance string) error { return named(instance, datapath.Prepare(instance)) }

func named(instance string, err error) error {
	if err != nil {
		return fmt.Errorf("take over instance %s: %w", instance, err)
	}
	return nil
}
