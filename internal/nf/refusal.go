package nf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// refusal says in a line why the kernel refuses a user's function: the last that the
// verifier says, and the line of the source that it was at.
func refusal(refused *ebpf.VerifierError) error {
	log := refused.Log
	for n := len(log); n > 0 && slices.ContainsFunc([]string{"processed ", "old state:", "cur state:"}, func(s string) bool { return strings.HasPrefix(log[n-1], s) }); n-- {
		log = log[:n-1]
	}
	if len(log) == 0 {
		return fmt.Errorf("the kernel refuses it: %w", refused.Cause)
	}
	why, source := log[len(log)-1], ""
	for i := len(log) - 1; i >= 0 && source == ""; i-- {
		if line, is := strings.CutPrefix(log[i], "; "); is {
			source = " at " + line
		}
	}
	return fmt.Errorf("the kernel's verifier refuses it: %s%s", strings.TrimSpace(why), source)
}
