package cli

import (
	"strings"
	"testing"
)

// Each shell has a script, and what the scripts ask the program is answered.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"completion bash":          "__start_realmgate",
		"completion zsh":           "#compdef realmgate",
		"completion fish":          "complete -c realmgate",
		"__complete stat":          "status\t",
		"__complete sessions --pr": "--protocol\t",
		"__complete completion z":  "zsh\n",
	} {
		if r := execute(t.Context(), strings.Fields(line)...); r.code != exitOK || !strings.Contains(r.stdout, want) {
			t.Errorf("%s: exit %d, without %q: %s", line, r.code, want, r.stdout)
		}
	}
}
