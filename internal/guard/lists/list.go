package lists

import "github.com/realmgate/realmgate/internal/model"

// List is a set of IPv4 and IPv6 addresses that was read from a text.
type List struct {
	Addresses *model.AddressSet

	Entries int        // lines with an address, a prefix or a range; two may say the same
	Faults  int        // lines that were left out; 0 in a file that the user wrote
	Fault   *LineError // the first of them, or nil
}
