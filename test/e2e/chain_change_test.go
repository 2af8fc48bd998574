package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// By command a function ends an established flow at its next packet, and lets it go on
// when it leaves; the file has it when it is saved, and the next daemon from there.
func TestChainChangesByCommand(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	d := r.start("# The edge of foo.\n" + r.configuration() + chainsFor(r.Clients[1]))
	talk := r.conversation(r.Clients[0], 0)
	entry := fmt.Sprintf("{use: filter, name: no-more, deny: [%s]}", r.Clients[0].IP)
	must := func(want string, arguments ...string) {
		t.Helper()
		if out, err := d.tell(arguments...); err != nil || !strings.Contains(out, want) {
			t.Fatalf("realmgate %v: %v: %s", arguments, err, out)
		}
	}
	must("chain echo asks no-more, filter", "chain", "insert", "echo", entry, "--before", "filter")
	if !d.refuses(talk, "drop_denied") {
		t.Error("a flow that is denied by command goes on")
	}
	must("echo*", "chain", "list")
	must("- chain echo: inserted no-more\n", "status")
	if dropped := d.functions("echo")[0].Dropped; dropped == 0 {
		t.Error("the function counted nothing")
	}
	must("chain echo asks filter\n", "chain", "remove", "echo", "no-more")
	if who, err := echoOn(talk); err != nil || who != hostName(0) {
		t.Errorf("a flow that nothing denies any more reached %q: %v", who, err)
	}
	if changed := d.status().ChangedChains; len(changed) > 0 {
		t.Errorf("all is as in the file, and status says %+v", changed)
	}

	piped := d.gateway.Command(context.Background(), program, "chain", "insert", "echo", "-", "--instance", d.instance)
	piped.Stdin = strings.NewReader(entry)
	if out, err := piped.CombinedOutput(); err != nil || !strings.Contains(string(out), "asks filter, no-more") {
		t.Fatalf("insert from standard input: %v: %s", err, out)
	}
	must("; 1 change made by command dropped", "reload")
	if who, err := echoOn(talk); err != nil || who != hostName(0) {
		t.Errorf("after a reload a flow that the file lets pass reached %q: %v", who, err)
	}
	must("asks no-more, filter", "chain", "insert", "echo", entry, "--priority", "0")
	must("1 chain saved to "+d.config+": echo\n", "chain", "save")
	text, err := os.ReadFile(d.config)
	if err != nil || !strings.HasPrefix(string(text), "# The edge of foo.\n"+r.configuration()) || !strings.Contains(string(text), "name: no-more") {
		t.Errorf("the file: %v\n%s", err, text)
	}
	d.stop()
	d.run()
	if functions := d.functions("echo"); len(functions) != 2 || functions[0].Name != "no-more" || len(d.status().ChangedChains) > 0 {
		t.Errorf("the next daemon has %+v, and changed by command: %+v", functions, d.status().ChangedChains)
	}
	address := r.mustLend(r.Clients[0], "echo."+hostName(0))
	if who, err := echo(r.Clients[0], netip.AddrPort{}, echoAddress(address)); err == nil {
		t.Errorf("under the next daemon who is denied reached %s", who)
	}
}

// What cannot be changed is refused in a line that says why, and changes nothing.
func TestBadChainChangesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	d := r.start(r.configuration() + chainsFor(r.Clients[0]))
	for name := range strings.FieldsSeq("a b c d e f g h i") {
		if out, err := d.tell("chain", "insert", "echo", "{use: filter, name: "+name+"}"); err != nil {
			t.Fatal(out)
		}
	}
	generation := d.status().Generation
	for _, c := range []struct{ want, command string }{
		{`there is no chain "ecco": see realmgate chain list`, "insert ecco {use:\tfilter}"},
		{`FUNCTION:1: use: want filter`, "insert echo {use:\tfiltre}"},
		{`FUNCTION:1: not valid YAML`, "insert echo {use:"},
		{`there are 11, a chain has at most 10`, "insert echo {use:\tfilter,name:\tj}"},
		{`a is the name of functions[1] too`, "insert echo {use:\tfilter,name:\ta}"},
		{`it has no function "z"`, "insert echo {use:\tfilter,name:\tj} --after z"},
		{`go round in a circle`, "insert echo {use:\tfilter,name:\tj,before:\t[a],after:\t[a]}"},
		{`want a whole number of 0 to 65535`, "move echo a --priority 65536"},
		{`it has no function "z"`, "remove echo z"},
	} {
		arguments := strings.Split(c.command, " ")
		for i := range arguments {
			arguments[i] = strings.ReplaceAll(arguments[i], "\t", " ")
		}
		out, err := d.tell(append([]string{"chain"}, arguments...)...)
		if err == nil || !strings.Contains(out, c.want) || !strings.HasSuffix(out, "nothing was changed: the gateway goes on with the configuration that it has\n") {
			t.Errorf("%s: %v: %s", c.command, err, out)
		}
	}
	if now := d.status().Generation; now != generation || len(d.functions("echo")) != 10 {
		t.Errorf("generation %d, before %d, functions %+v", now, generation, d.functions("echo"))
	}
}
