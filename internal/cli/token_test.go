package cli

import "testing"

// The secret is all that a shell puts into a file; what it is for is beside it.
func TestTokenCreate(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--for", "90d"}, {}} {
		r := execute(t.Context(), append([]string{"token", "create", "prometheus", "--role", "read", "--socket", populated().serve(t)}, args...)...)
		const told = "token prometheus (read) holds until 2026-05-30; its secret cannot be shown again:\n"
		if r.code != exitOK || r.stdout != "rg_secret\n" || r.stderr != told {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
