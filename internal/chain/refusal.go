package chain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
)

// refusal says in a line why the kernel refuses a user's function: the last that the
// verifier says, and the line of the source that it was at.
func refusal(refused *ebpf.VerifierError) error {
	if strings.Contains(refused.Cause.Error(), "bad CO-RE relocation") {
		return errors.New("it needs a type or field that this machine's kernel does not have (CO-RE)")
	}
	log := refused.Log
	if n := len(log); n > 0 && strings.HasPrefix(log[n-1], "processed ") {
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
