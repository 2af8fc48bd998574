package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every mistake gets one line that says what to do.
func TestMistakes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"bogus":          {2, `unknown command "bogus" (see: realmgate --help)`},
		"stauts -o json": {2, `unknown command "stauts": did you mean status? (see: realmgate --help)`},
		"doctor --profile 10s --round-trip www.foo.example": {2, `if any flags in the group [profile round-trip] are set none of the others can be; [profile round-trip] were all set (see: realmgate doctor --help)`},
		"--bogus":                     {2, `unknown flag: --bogus (see: realmgate --help)`},
		"status extra":                {2, `realmgate status takes no argument, and got "extra" (see: realmgate status --help)`},
		"status --watch 0":            {2, `invalid argument "0" for "--watch" flag: use a time from 100ms to 1h, as 10s (see: realmgate status --help)`},
		"status --port 80":            {2, `unknown flag: --port (see: realmgate status --help)`},
		"sessions --port 0":           {2, `invalid argument "0" for "--port" flag: "0" is not a port: use 1 to 65535 (see: realmgate sessions --help)`},
		"pool --protocol ah":          {2, `invalid argument "ah" for "--protocol" flag: unknown protocol "ah": use tcp, udp, icmp, ipip, dccp, 6in4, gre, esp, sctp, udplite or any (see: realmgate pool --help)`},
		"hosts --address 1.2":         {2, `invalid argument "1.2" for "--address" flag: "1.2" is not an IP address (see: realmgate hosts --help)`},
		"hosts --host a..b":           {2, `invalid argument "a..b" for "--host" flag: name "a..b" has a label that is not 1 to 63 octets long (see: realmgate hosts --help)`},
		"drops -o xml":                {2, `invalid argument "xml" for "-o, --output" flag: use table or json (see: realmgate drops --help)`},
		"ban add 192.0.2.1 --for 3w":  {2, `invalid argument "3w" for "--for" flag: use a time above 0 with its unit, as 90m, 24h or 7d (see: realmgate ban add --help)`},
		"ban add 192.0.2.1 --for 0d":  {2, `invalid argument "0d" for "--for" flag: use a time above 0 with its unit, as 90m, 24h or 7d (see: realmgate ban add --help)`},
		"ban add 192.0.2.1 --for -1d": {2, `invalid argument "-1d" for "--for" flag: use a time above 0 with its unit, as 90m, 24h or 7d (see: realmgate ban add --help)`},
		"token create --role read":    {2, `give a name for the token (see: realmgate token create --help)`},
		"token revoke a b":            {2, `realmgate token revoke takes no argument after that, and got "b" (see: realmgate token revoke --help)`},
		"token create a":              {2, `required flag(s) "role" not set (see: realmgate token create --help)`},
		"token create a --role root":  {2, `invalid argument "root" for "--role" flag: unknown role "root": use read, operate or admin (see: realmgate token create --help)`},
		"observe --last 5000":         {2, `invalid argument "5000" for "--last" flag: last: use a number of 0 to 4096 (see: realmgate observe --help)`},
		"observe --reason no":         {2, `invalid argument "no" for "--reason" flag: reason: "no" is none of a drop (see: realmgate observe --help)`},
		"trace --at now":              {2, `invalid argument "now" for "--at" flag: use a date and a time, as "2026-11-30 09:12:03" (see: realmgate trace --help)`},
		"trace --port 1":              {2, `give --address and --at (see: realmgate trace --help)`},
		"trace --address 2001:db8::1": {2, `invalid argument "2001:db8::1" for "--address" flag: address: give an IPv4 address of the gateway's (see: realmgate trace --help)`},
		"drops --count -1":            {2, `invalid argument "-1" for "--count" flag: use a whole number, or 0 for no end (see: realmgate drops --help)`},
		"capture":                     {2, `say which chain with --chain CHAIN (see realmgate chain list), or --drops (see: realmgate capture --help)`},
		"capture --chain a b":         {2, `realmgate capture takes no argument, and got "b" (see: realmgate capture --help)`},
		"capture --snap 65536":        {2, `invalid argument "65536" for "--snap" flag: use 1 to 65535 bytes (see: realmgate capture --help)`},
		"capture --snap 0":            {2, `invalid argument "0" for "--snap" flag: use 1 to 65535 bytes (see: realmgate capture --help)`},
		"run":                         {2, `give the configuration file with -c FILE (see: realmgate run --help)`},
		"check":                       {2, `give the configuration file with -c FILE (see: realmgate check --help)`},
		"check -c":                    {2, `flag needs an argument: 'c' in -c (see: realmgate check --help)`},
		"run -c x --log-level loud": {2,
			`invalid argument "loud" for "--log-level" flag: use debug, info, warn or error (see: realmgate run --help)`},
		"explain":                                    {2, `give an address: who would begin the flow (see: realmgate explain --help)`},
		"explain 1.2":                                {2, `"1.2" is not an IP address (see: realmgate explain --help)`},
		"explain 2001:db8::1 --to a.example":         {2, `names stand for IPv4: give an IPv6 address, or none (see: realmgate explain --help)`},
		"explain 1.1.1.1 2.2.2.2":                    {2, `realmgate explain takes no argument after that, and got "2.2.2.2" (see: realmgate explain --help)`},
		"explain 1.1.1.1 --port 80":                  {2, `say where to: protocol and port are of what the flow goes to (see: realmgate explain --help)`},
		"explain 1.1.1.1 --to 2.2.2.2":               {2, `say which protocol: tcp, udp or icmp (see: realmgate explain --help)`},
		"explain 1.1.1.1 --to a --port 0":            {2, `invalid argument "0" for "--port" flag: "0" is not a port: use 1 to 65535 (see: realmgate explain --help)`},
		"explain 1.1.1.1 --direction across":         {2, `invalid argument "across" for "--direction" flag: unknown direction "across": use in or out (see: realmgate explain --help)`},
		"sessions end":                               {2, `say which sessions by a filter, or --all (see: realmgate sessions end --help)`},
		"sessions end --all --protocol any --port 1": {2, `give filters or --all, not both (see: realmgate sessions end --help)`},
		"sessions end --protocol any":                {2, `say which sessions by a filter, or --all (see: realmgate sessions end --help)`},
		"sessions end 10.0.0.1":                      {2, `realmgate sessions end takes no argument, and got "10.0.0.1" (see: realmgate sessions end --help)`},
		"bench run nat44-establihs":                  {2, `there is no scenario "nat44-establihs": did you mean nat44-establish? (see: realmgate bench run --help)`},
		"bench run zzz":                              {2, `there is no scenario "zzz": see realmgate bench list (see: realmgate bench run --help)`},
		"bench run nat44-establish --dut realmgate,nftable": {2,
			`there is no device "nftable": did you mean nftables or nftables-set? (see: realmgate bench run --help)`},
		"tune":                {2, `say how many sessions with --sessions N: 1 to 64000000 (see: realmgate tune --help)`},
		"tune --sessions 1e9": {2, `invalid argument "1e9" for "--sessions" flag: strconv.ParseInt: parsing "1e9": invalid syntax (see: realmgate tune --help)`},
		"bench run nat44-establish --external a,b": {2,
			`nat44-establish wants an empty table for each trial: give a command that ends all sessions of the box with --reset (see: realmgate bench run --help)`},
		"bench run routing --external a,b": {2,
			`routing cannot be measured on an external box; these can: nat44-establish, nat44-throughput, nat44-loss, nat44-latency, nat44-pdv, nat44-teardown, nat44-capacity (see: realmgate bench run --help)`},
		"bench run nat44-establish --reset true":    {2, `--reset is for a box of your own: give --external, too (see: realmgate bench run --help)`},
		"bench run nat44-throughput --external a":   {2, `--external wants two interfaces, INITIATOR,RESPONDER: the box's private side first (see: realmgate bench run --help)`},
		"bench run nat44-throughput --dut external": {2, `--external wants two interfaces, INITIATOR,RESPONDER: the box's private side first (see: realmgate bench run --help)`},
		"bench run nat44-throughput --external a,a": {2,
			`the box stands between "a" and "a": give two interfaces, the initiator's and the responder's (see: realmgate bench run --help)`},
		"bench run nat44-throughput --external a,b --dut realmgate": {2, `--external measures one box alone: leave --dut out (see: realmgate bench run --help)`},
		"bench run nat44-throughput --external a,b --setup self-clocked": {2,
			`an external box has a clock of its own: it is measured with --setup paced alone (see: realmgate bench run --help)`},
		"config fmt -w":  {2, `give the file to write with -w (see: realmgate config fmt --help)`},
		"config fmt a b": {2, `realmgate config fmt takes one file, and got "b", too (see: realmgate config fmt --help)`},
		"completion":     {2, `give a shell: bash, zsh or fish (see: realmgate completion --help)`},
		"completion csh": {2, `there is no completion for "csh": give bash, zsh or fish (see: realmgate completion --help)`},
		"help bogus":     {2, `there is no command "bogus" (see: realmgate help --help)`},
		"status --instance ../x": {2,
			`invalid argument "../x" for "--instance" flag: use 1 to 32 letters, digits, hyphens and underscores (see: realmgate status --help)`},
		"status --instance " + strings.Repeat("a", 33): {2,
			`invalid argument "` + strings.Repeat("a", 33) + `" for "--instance" flag: use 1 to 32 letters, digits, hyphens and underscores (see: realmgate status --help)`},
		"check -c " + missing: {1, `read the configuration: open ` + missing + `: no such file or directory`},
		"status --instance no_such-1": {1,
			`no gateway answers on /run/realmgate/no_such-1.sock: start it with: realmgate run -c FILE --instance no_such-1`},
		"drops --socket " + missing: {1,
			`no gateway answers on ` + missing + `: start it with: realmgate run -c FILE --socket ` + missing},
		"chain insert out":                   {2, `give the function's entry in YAML, or - to read it from standard input (see: realmgate chain insert --help)`},
		"chain move":                         {2, `give a chain: see realmgate chain list (see: realmgate chain move --help)`},
		"chain move out filter":              {2, `say where to: --before, --after or --priority (see: realmgate chain move --help)`},
		"chain remove out filter --before a": {2, `unknown flag: --before (see: realmgate chain remove --help)`},
		"chain insert out {} --after=": {2,
			`--after takes the name of a function: see realmgate chain show CHAIN (see: realmgate chain insert --help)`},
		"chain save out": {2, `realmgate chain save takes no argument, and got "out" (see: realmgate chain save --help)`},
		"chain insert out {} --before a --priority 0": {2,
			`give one of --before, --after and --priority (see: realmgate chain insert --help)`},
		"bench lst": {2, `unknown command "lst": did you mean list? (see: realmgate bench --help)`},
		"bench run": {2, `give a scenario: see realmgate bench list (see: realmgate bench run --help)`},
		"bench run nat44-establish --direction forward": {2,
			`nat44-establish has no use for --direction: leave it out (see: realmgate bench run --help)`},
		"bench run nat44-throughput --rate 1000": {2,
			`nat44-throughput has no use for --rate: leave it out (see: realmgate bench run --help)`},
		"bench run nat44-establish --repeat 0": {2,
			`0 repetitions: want 1 to 1000 (see: realmgate bench run --help)`},
	} {
		r := execute(t.Context(), strings.Fields(line)...)
		if r.code != want.code || r.stderr != "realmgate: "+want.text+"\n" || r.stdout != "" {
			t.Errorf("%s: exit %d, want %d\n got %swant realmgate: %s\n%s", line, r.code, want.code, r.stderr, want.text, r.stdout)
		}
	}
}

func TestErrorsOfTheDaemon(t *testing.T) {
	d := populated()
	d.refusal = "a.yaml:3: unknown key\na.yaml:9: no such thing"
	socket := d.serve(t)
	for _, command := range []string{"status", "sessions", "pool", "hosts", "drops"} {
		if r := execute(t.Context(), command, "--socket", socket); r.code != exitError || r.stderr != "realmgate: "+d.refusal+"\n" || r.stdout != "" {
			t.Errorf("%s: %+v", command, r)
		}
	}
	// Faults of the file stand alone, so that editors find them.
	r := execute(t.Context(), "reload", "--socket", socket)
	want := d.refusal + "\nrealmgate: nothing was changed: the gateway goes on with the configuration that it has\n"
	if r.code != exitError || r.stderr != want {
		t.Errorf("reload: %+v", r)
	}
}

// elsewhere is the example with interfaces that no machine has: whatever this one has, nothing is compared with it.
func elsewhere(t *testing.T) (file string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "realmgate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "realmgate.yaml")
	text = []byte(strings.NewReplacer("eth0", "outside-of-none", "eth1", "inside-of-none").Replace(string(text)))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCheck(t *testing.T) {
	example := elsewhere(t)
	r := execute(t.Context(), "check", "-c", example)
	if r.code != exitOK || r.stderr != "" || r.stdout != example+": ok (1 host, 1 service, 16 pool addresses)\n" {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	faulty := filepath.Join(t.TempDir(), "faulty.yaml")
	if err := os.WriteFile(faulty, []byte("colour: red\ncapacity: 3\n"+string(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	r = execute(t.Context(), "check", "--config", faulty)
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	if r.code != exitError || r.stdout != "" || len(lines) < 2 || !strings.HasPrefix(lines[0], faulty+":1: ") {
		t.Errorf("%+v", r)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, faulty+":") {
			t.Errorf("%q is not FILE:LINE: message", line)
		}
	}
}

// fullPipe takes nothing.
type fullPipe struct{}

func (fullPipe) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestFailureToWrite(t *testing.T) {
	socket := populated().serve(t)
	for _, line := range []string{
		"status", "status -o json", "sessions", "sessions -o json", "pool", "pool -o json", "hosts", "hosts -o json",
		"explain 1.1.1.1", "explain 1.1.1.1 -o json", "observe", "observe -o json", "trace --address 1.1.1.1 --at 2026-11-30T09:12:03Z", "trace --address 1.1.1.1 --at 2026-11-30T09:12:03Z -o json", "drops", "drops -o json", "reload", "handover", "version", "completion bash", "completion zsh", "completion fish", "bench list", "bench list -o json", "check -c " + elsewhere(t),
	} {
		var stderr strings.Builder
		code := newApp(fullPipe{}, &stderr).main(t.Context(), append(strings.Fields(line), "--socket", socket))
		if code != exitError || stderr.String() != "realmgate: write the answer: no space left\n" {
			t.Errorf("%s: exit %d, %s", line, code, &stderr)
		}
	}
}
