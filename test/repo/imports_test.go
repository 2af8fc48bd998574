package repo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	module = "github.com/realmgate/realmgate"
	ebpf   = "github.com/cilium/ebpf"
)

// mayImport is the design's "who may import whom", rules 1 to 4: for each
// package below internal/, the other packages below internal/ that its own code
// may use. A name ending in /... stands for everything below it, .../settings for
// those of all rooms. A package that is not here has no place in the house yet:
// give it one.
var mayImport = map[string][]string{
	// 1. The words, and what stands on them alone.
	"model":        {},
	"config":       {"access/settings", "edge/settings", "events/settings", "guard/ban/settings", "guard/geo/settings", "guard/honeypot/settings", "guard/jail/settings", "guard/lists/settings", "model", "names/allocation/settings", "names/dynamic/settings", "names/realm/settings", "names/server/settings", "natlog/settings", "outbound/settings", "plane/settings", "ruleset/settings", "schema", "web/settings"},
	"store":        {},
	"events/event": {},
	"mounts":       {},
	"siphash":      {},
	"ipv4":         {},
	"web/hello":    {},
	"netdev":       {},
	"process":      {},
	"httperror":    {},
	"lifecycle":    {},
	"systemd":      {"lifecycle"},
	"handover":     {"api", "datapath", "process"},
	"stream":       {"api"},
	"page":         {"api"},
	"access":       {"access/settings", "api", "events/event", "lifecycle", "metrics/metric"},
	// What is measured, which rooms put on a page, and the page.
	"metrics/metric": {},
	"metrics":        {"lifecycle", "metrics/metric"},
	"datapath":       {"model", "mounts", "netdev", "siphash"},
	"lab/netns":      {"netdev"},
	"lab/packets":    {"model"},
	"lab/oncpu":      {},
	"schema":         {"model"},
	"nf":             {"model", "schema"},
	"nf/...":         {"model", "nf", "nf/match", "nf/meter", "schema"},
	"nf/functions":   {"nf", "nf/..."},
	// What a room has in the configuration: all that config knows of it.
	".../settings":     {"model", "schema"},
	"events/settings":  {"events/event", "schema"},
	"ruleset/settings": {"model", "nf", "nf/functions", "nf/match", "schema"},
	// 2. What decides: never each other, never the data plane.
	"pool":       {"model"},
	"registry":   {"model"},
	"policy":     {"model"},
	"guard/ban":  {"api", "config", "events/event", "lifecycle", "metrics/metric", "model", "store"},
	"events":     {"api", "events/event", "events/settings", "httperror", "metrics/metric", "process"},
	"names/zone": {"model"},
	"nameserver": {"model", "names/rebind", "names/zone", "siphash"},
	"health":     {"httperror"},
	"diagnose":   {"api", "config"},
	"tenants":    {"config"},
	// What is wrong, and what of that is whose fault: pure, and what it is told of machine and networks.
	"doctor":         {},
	"bugreport":      {"datapath"},
	"doctor/collect": {"client", "config", "datapath", "doctor", "lab/bench/method", "lab/packets", "netdev"},
	"geodata":        {"guard/geo", "guard/lists"},
	// A filter of answers, and what joins names, policy, pool and data plane: from a question to an answer.
	"names/rebind":     {"model"},
	"outbound":         {"api", "config", "datapath", "events/event", "lifecycle"}, // which addresses hosts leave by
	"names/allocation": {"api", "config", "datapath", "events/event", "metrics/metric", "model", "names/allocation/settings", "nameserver", "policy", "pool"},
	"names/dynamic":    {"api", "datapath", "events/event", "lifecycle", "metrics/metric", "model", "names/dynamic/settings", "nameserver", "registry", "store"}, // hosts that register themselves
	"web/ability":      {"api", "datapath", "events/event", "lifecycle", "model", "registry"},                                                                    // what the hosts of the web can
	"web/rest":         {"datapath", "lifecycle", "model"},                                                                                                       // what was of the web a moment ago
	"guard/geo":        {"config", "guard/geo/settings", "model"},
	"guard/jail":       {"api", "events/event", "guard/jail/settings", "lifecycle", "metrics/metric", "model", "process"},
	"guard/lists":      {"api", "events/event", "guard/lists/settings", "httperror", "lifecycle", "metrics/metric", "model"},
	"machine":          {"api", "datapath", "metrics/metric", "model"},
	"natlog":           {"api", "datapath", "lifecycle", "metrics/metric", "model", "natlog/settings"}, // who had what, and when
	"flow":             {"api", "datapath", "model"},                                                   // what there is, and what becomes of it
	"guard/honeypot":   {"api", "datapath", "guard/honeypot/settings", "model"},
	"web":              {"api", "datapath", "events/event", "ipv4", "model", "web/hello"},
	"ask":              {"api", "datapath", "events/event", "ipv4", "lifecycle", "model", "nf/ask", "ruleset/settings", "web/hello"},
	"balance":          {"api", "datapath", "health", "lifecycle", "model", "nf/multipath", "ruleset/settings"},
	"capture":          {"api", "datapath", "lifecycle", "model", "nf", "ruleset/settings"},
	"edge/wire":        {"model", "siphash"},                // what edges say, octet for octet
	"edge/policy":      {"model"},                           // whether they may, and how narrowly
	"edge/pact":        {"edge/policy", "model", "siphash"}, // who has which proxy address, number and tag
	"edge/link":        {"edge/wire", "model"},              // one connection for each pair of edges
	"edge":             {"api", "datapath", "edge/link", "edge/pact", "edge/policy", "edge/settings", "edge/wire", "events/event", "lifecycle", "model", "nameserver", "siphash"},
	"names/realm":      {"api", "config", "model", "names/zone", "nameserver", "pool", "registry"},
	"names/server":     {"api", "config", "datapath", "lifecycle", "metrics/metric", "model", "names/rebind", "nameserver", "store"},
	"advice":           {"api", "config", "datapath", "lifecycle", "model", "nameserver", "policy"},
	"ruleset":          {"config", "datapath", "model", "nf", "nf/match", "ruleset/settings"},
	"reload":           {"api", "config", "events/event", "lifecycle", "model"},
	"chains":           {"api", "config", "datapath", "events/event", "metrics/metric", "model", "ruleset", "ruleset/settings"},
	"names/shared":     {"config", "datapath", "model", "registry", "ruleset"},
	"explain":          {"api", "config", "datapath", "lab/packets", "model", "nf", "registry", "ruleset", "ruleset/settings"},
	"plane":            {"api", "config", "datapath", "lifecycle", "metrics/metric", "model", "nf", "plane/settings"},
	// 3. The daemon, the only package that knows all the others, and its faces.
	"daemon":   {"access", "advice", "api", "ask", "balance", "capture", "chains", "config", "datapath", "diagnose", "doctor", "edge", "events", "events/event", "explain", "flow", "guard/ban", "guard/geo", "guard/honeypot", "guard/honeypot/settings", "guard/jail", "guard/jail/settings", "guard/lists", "handover", "lifecycle", "machine", "metrics", "model", "names/allocation", "names/dynamic", "names/realm", "names/server", "names/shared", "nameserver", "natlog", "nf", "outbound", "page", "plane", "reload", "ruleset", "ruleset/settings", "store", "stream", "systemd", "tenants", "web", "web/ability", "web/rest"},
	"api":      {"events/event", "model", "schema"},
	"client":   {"api"},
	"cli":      {"bugreport", "client", "config", "daemon", "doctor", "doctor/collect", "geodata", "guard/geo", "guard/geo/settings", "handover", "lab/bench", "lab/bench/dut", "lab/bench/method", "lab/bench/report", "lab/bench/reproduce", "lab/bench/scenario", "lab/bench/splice", "lab/bench/trafficgen", "lab/demo", "model", "page", "schema"},
	"lab/demo": {"client", "guard/geo", "lab/netns", "lab/oncpu", "lab/packets", "model", "mounts"},
	// 4. The measuring lab; devices, scenarios and reports import bench, never the
	// other way.
	"lab/bench":            {"client", "lab/bench/method", "lab/bench/trafficgen", "lab/bench/webload", "lab/netns", "mounts", "netdev"},
	"lab/bench/method":     {},
	"lab/bench/trafficgen": {},
	"lab/bench/webload":    {"lab/packets"},
	"lab/bench/splice":     {"web/hello"},
	"lab/planes":           {"datapath", "netdev"},
	"lab/bench/replay":     {"lab/packets", "model"},
	"lab/bench/dut":        {"client", "guard/geo", "lab/bench", "lab/bench/method", "lab/bench/trafficgen", "lab/netns"},
	"lab/bench/scenario":   {"lab/bench", "lab/bench/method", "lab/bench/replay", "lab/bench/trafficgen", "lab/bench/webload", "lab/netns", "lab/packets", "model", "nf"},
	"lab/bench/report":     {"lab/bench", "lab/bench/method"},
	"lab/bench/reproduce":  {"lab/bench", "lab/bench/method", "lab/bench/report", "lab/demo", "lab/oncpu"},
}

// Tests inside a package may also build packets, lay a lab and ask the daemon.
var testsMayImport = []string{"api", "client", "events/event", "lab/netns", "lab/packets", "model", "nf/nftest"}

// rooms are what the daemon joins; none knows another.
var rooms = []string{
	"advice", "ask", "balance", "capture", "chains", "diagnose", "edge", "events", "explain", "flow", "guard/ban", "guard/geo", "guard/honeypot", "guard/jail", "guard/lists",
	"handover", "machine", "metrics", "natlog", "names/allocation", "names/dynamic", "names/realm", "names/server", "names/shared", "outbound", "page", "plane", "reload", "tenants", "web", "web/ability", "web/rest",
}

// Scenarios are tried with devices, what a file says with functions, and functions on a bed.
var testsMayAlsoImport = map[string][]string{"lab/bench/scenario": {"lab/bench/dut"}, "config": {"nf", "nf/..."}, "nf/meter": {"nf/..."}, "daemon": {"nf/...", "pool"}}

// Only these load programs and touch maps (rule 1); tests run them, and send floods.
var mayImportEBPF = []string{"internal/datapath", "internal/nf", "internal/nf/...", "internal/lab/bench/trafficgen", "internal/lab/oncpu", "internal/lab/planes", "test/dataplane", "test/datapath", "test/e2e", "test/packages"}

// listing is what `go list -json` says of a package.
type listing struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func covers(pattern, name string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	last, above := strings.CutPrefix(pattern, ".../")
	return pattern == name || below && strings.HasPrefix(name, base+"/") || above && strings.HasSuffix(name, "/"+last)
}

func allowed(name string) (list []string, known bool) {
	if list, known := mayImport[name]; known {
		return list, true
	}
	for pattern, list := range mayImport {
		if covers(pattern, name) {
			return list, true
		}
	}
	return nil, false
}

func checkImports(packages []listing) []string {
	var problems []string
	for _, p := range packages {
		place, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours {
			continue
		}
		name := strings.TrimPrefix(place, "internal/")
		list, known := allowed(name)
		tests := slices.Concat(p.TestImports, p.XTestImports)
		switch {
		case place == "cmd/realmgate":
			list = []string{"cli"} // main only starts things
		case !strings.HasPrefix(place, "internal/"): // tests and examples use what they like, but the eBPF library
			problems = append(problems, unloading(place, slices.Concat(p.Imports, tests))...)
			continue
		case !known:
			problems = append(problems, place+": nobody said who it may import: add it to mayImport and to .golangci.yml")
			continue
		}
		problems = append(problems, unloading(place, slices.Concat(p.Imports, tests))...)
		problems = append(problems, strangers(place, list, p.Imports)...)
		problems = append(problems, strangers(place, slices.Concat(list, testsMayImport, testsMayAlsoImport[name], []string{name}), tests)...)
		if name == "model" {
			problems = append(problems, foreigners(place, p.Imports)...)
		}
	}
	return problems
}

// unloading wants the eBPF library only where programs are loaded.
func unloading(place string, imports []string) []string {
	var problems []string
	for _, imported := range imports {
		if (imported == ebpf || strings.HasPrefix(imported, ebpf+"/")) && !slices.ContainsFunc(mayImportEBPF, func(pattern string) bool { return covers(pattern, place) }) {
			problems = append(problems, fmt.Sprintf("%s: imports %s: only datapath, nf, lab/bench/trafficgen and lab/planes may", place, imported))
		}
	}
	return problems
}

// strangers lists the packages below internal/ that are imported and not in list.
func strangers(place string, list, imports []string) []string {
	var problems []string
	for _, imported := range imports {
		name, ours := strings.CutPrefix(imported, module+"/internal/")
		if ours && !slices.ContainsFunc(list, func(pattern string) bool { return covers(pattern, name) }) {
			problems = append(problems, fmt.Sprintf("%s: imports %s: declare the small interface it needs, daemon injects the rest", place, name))
		}
	}
	return problems
}

// foreigners lists the imports that are in no standard library: their first
// path element has a dot.
func foreigners(place string, imports []string) []string {
	var problems []string
	for _, imported := range imports {
		if host, _, _ := strings.Cut(imported, "/"); strings.Contains(host, ".") && !strings.HasPrefix(imported, module) {
			problems = append(problems, fmt.Sprintf("%s: imports %s: it knows the standard library only", place, imported))
		}
	}
	return problems
}

func TestImports(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = repository(t).root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	var packages []listing
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listing
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 2 {
		t.Fatalf("go list found %d packages: %s", len(packages), stderr.String())
	}
	for _, problem := range slices.Concat(checkImports(packages), checkLoose(packages), checkRooms(mayImport)) {
		t.Error(problem)
	}
}

// checkLoose wants mayImport to say no more than there is.
func checkLoose(packages []listing) (problems []string) {
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module+"/internal/")
		for _, may := range mayImport[name] {
			uses := func(imported string) bool { return covers(may, strings.TrimPrefix(imported, module+"/internal/")) }
			if !slices.ContainsFunc(p.Imports, uses) {
				problems = append(problems, fmt.Sprintf("internal/%s: does not import %s: take it out of mayImport and of .golangci.yml", name, may))
			}
		}
	}
	return problems
}

func checkRooms(may map[string][]string) (problems []string) {
	for _, room := range rooms {
		for _, other := range may[room] {
			if owner := strings.TrimSuffix(other, "/settings"); owner != room && slices.Contains(rooms, owner) {
				problems = append(problems, fmt.Sprintf("internal/%s: knows the room %s: declare the small interface it needs, daemon joins them", room, other))
			}
		}
	}
	return problems
}

func TestLooseImportsCanFail(t *testing.T) {
	t.Parallel()
	is := listing{ImportPath: module + "/internal/client"}
	if problems := checkLoose([]listing{is}); len(problems) != 1 || !strings.Contains(problems[0], "internal/client: does not import api") {
		t.Errorf("what a package does not import: got %q", problems)
	}
	is.Imports = []string{module + "/internal/api"}
	if problems := checkLoose([]listing{is}); len(problems) != 0 {
		t.Errorf("what it imports: got %q", problems)
	}
	for _, other := range []string{"guard/geo", "guard/geo/settings"} {
		if problems := checkRooms(map[string][]string{"guard/ban": {"model", "guard/ban/settings", other}}); len(problems) != 1 || !strings.Contains(problems[0], "knows the room "+other) {
			t.Errorf("a room that knows another: got %q", problems)
		}
	}
}

func TestImportsCanFail(t *testing.T) {
	t.Parallel()
	in := func(name string) string { return module + "/internal/" + name }
	for _, c := range []struct{ from, to, want string }{
		{in("model"), in("config"), "internal/model: imports config"},
		{in("model"), "golang.org/x/sys/unix", "standard library only"},
		{in("pool"), in("registry"), "internal/pool: imports registry"},
		{in("nameserver"), in("datapath"), "internal/nameserver: imports datapath"},
		{in("guard/ban"), in("guard/list"), "internal/guard/ban: imports guard/list"},
		{in("policy"), in("config"), "internal/policy: imports config"},
		{in("api"), in("daemon"), "internal/api: imports daemon"},
		{in("lab/bench"), in("lab/bench/dut"), "internal/lab/bench: imports lab/bench/dut"},
		{in("daemon"), ebpf + "/link", "only datapath, nf, lab/bench/trafficgen and lab/planes"},
		{module + "/test/browser", ebpf, "only datapath, nf, lab/bench/trafficgen and lab/planes"},
		{module + "/cmd/realmgate", in("daemon"), "cmd/realmgate: imports daemon"},
		{in("newcomer"), "fmt", "internal/newcomer: nobody said"},
		{in("guard/jail/settings"), in("guard/jail"), "internal/guard/jail/settings: imports guard/jail"},
		{in("pool"), "fmt", ""},
		{in("daemon"), in("guard/ban"), ""},
		{in("lab/bench/dut"), in("lab/bench"), ""},
		{in("datapath"), ebpf + "/link", ""},
		{module + "/test/browser", in("daemon"), ""},
	} {
		problems := checkImports([]listing{{ImportPath: c.from, Imports: []string{c.to}}})
		if got := strings.Join(problems, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
	tests := listing{ImportPath: in("pool"), XTestImports: []string{in("lab/packets"), in("datapath")}}
	if problems := checkImports([]listing{tests}); len(problems) != 1 || !strings.Contains(problems[0], "imports datapath") {
		t.Errorf("a test's imports: got %q", problems)
	}
}

// checkDepguard wants the linter's table to be the same as mayImport.
func checkDepguard(r tree) []string {
	const name = ".golangci.yml"
	text, _ := r.read(name)
	var parsed struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Allow []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		return []string{fmt.Sprintf("%s: %v", name, err)}
	}
	var problems []string
	for pattern, want := range mayImport {
		var got []string
		for _, pkg := range parsed.Linters.Settings.Depguard.Rules[strings.ReplaceAll(pattern, "...", "each")].Allow {
			if pkg, ours := strings.CutPrefix(pkg, module+"/internal/"); ours {
				pkg = strings.TrimSuffix(pkg, "$")
				if base, below := strings.CutSuffix(pkg, "/"); below {
					pkg = base + "/..."
				}
				got = append(got, pkg)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			problems = append(problems, fmt.Sprintf("%s: depguard lets %s import %q, mayImport says %q", name, pattern, got, want))
		}
	}
	return problems
}

func TestDepguardAgrees(t *testing.T) {
	t.Parallel()
	upholds(t, checkDepguard)
}

func TestDepguardAgreesCanFail(t *testing.T) {
	t.Parallel()
	text, _ := repository(t).read(".golangci.yml")
	rejects(t, checkDepguard, map[string]string{
		".golangci.yml": strings.Replace(text, "- "+module+"/internal/registry$", "- "+module+"/internal/lab/netns$", 1),
	}, "depguard lets")
}
