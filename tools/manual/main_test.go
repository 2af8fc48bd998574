package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const cli = `# Command line

Answers go to [standard output](x.md).

## realmgate
Flags of every command.

| Flag | Default | Meaning |
| --- | --- | --- |
| ` + "`--instance NAME`" + ` | default | Which gateway: ` + "`a\\|b`" + `. |
| ` + "`-h`" + ` | – | Explains. |

## realmgate ban add
Bans [addresses](bans.md) and
prefixes. More of it.

` + "```sh\nrealmgate ban add 203.0.113.7 | cat\n| a |\n```\n"

// Each command has a page with its name, what it does and its flags, and no link leads away.
func TestPages(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"cli.md": cli, "configuration.md": "# Configuration\n\n## Pool\n| Key | Type | Default | Allowed | Meaning |\n| --- | --- | --- | --- | --- |\n| `pool.rest` | duration | 730s | 1s to 2s | How long. |\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(folder, folder, "1.0", "2026-11-30"); err != nil {
		t.Fatal(err)
	}
	for page, wanted := range map[string][]string{
		"realmgate.1":         {".TH REALMGATE 1 \"2026-11-30\" \"realmgate 1.0\" \"Realmgate\"", "realmgate \\- a gateway", "Answers go to standard output.", "\\fB--instance NAME\\fR\n(default default) Which gateway: \\fBa|b\\fR", "\\fB-h\\fR\nExplains.", "\\fBrealmgate-ban-add\\fP(1)\nBans addresses and prefixes"},
		"realmgate-ban-add.1": {"realmgate-ban-add \\- Bans addresses and prefixes\n", "\\fBrealmgate ban add\\fP [\\fIFLAGS\\fP]", "More of it.", "realmgate ban add 203.0.113.7 | cat\n| a |\n", "\\fBrealmgate.yaml\\fP(5)"},
		"realmgate.yaml.5":    {".SH Pool", ".TP\n\\fBpool.rest\\fR\n(type duration; default 730s; allowed 1s to 2s) How long."},
	} {
		made, err := os.ReadFile(filepath.Join(folder, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wanted {
			if !strings.Contains(string(made), want) {
				t.Errorf("%s lacks %q:\n%s", page, want, made)
			}
		}
		if strings.Contains(string(made), ".md") {
			t.Errorf("%s has a link:\n%s", page, made)
		}
	}
}
