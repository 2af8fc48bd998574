package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Where the gateway may not write its file, the guide's line brings an earlier configuration back: as it was, with its comments.
func TestGuideConfigurationGoesBack(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	read := func(file string) string {
		text, err := os.ReadFile(file) //nolint:gosec // a file of the test's
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := "# of the first day\n" + r.configuration()
	d := r.start(first)
	d.write(strings.Replace(first, "first", "second", 1) + "ignoreip: [203.0.113.9]\n")
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	line := ""
	for _, l := range strings.Split(read("../../docs/guide/configuration.md"), "\n") {
		if strings.Contains(l, "config show --number 7 >") {
			line = l
		}
	}
	line = strings.NewReplacer("--number 7", "--number 1 --instance "+d.instance, "realmgate reload", program+" reload --instance "+d.instance,
		"realmgate config", program+" config", "/etc/realmgate.yaml", d.config).Replace(line)
	if out, err := d.gateway.Command(t.Context(), "sh", "-c", "cd "+t.TempDir()+"\n"+line).CombinedOutput(); line == "" || err != nil || !strings.Contains(string(out), "in force") {
		t.Fatalf("%s: %v, %s", line, err, out)
	}
	if got := read(d.config); got != first {
		t.Errorf("the file is\n%s\nand was\n%s", got, first)
	}
	if out, err := d.tell("config", "show"); err != nil || out != first {
		t.Errorf("in force is %v, %s", err, out)
	}
}
