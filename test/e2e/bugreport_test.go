package e2e

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// planted are secrets, by where they stand.
var planted = map[string]string{
	"the secret of a TSIG key":              "cGxhbnRlZCBzZWNyZXQgb25lIQ==",
	"the password of a URL of the file":     "planted-list-password",
	"the path of a webhook":                 "B0PLANTEDHOOK/XPLANTEDxyz",
	"an argument of a command":              "planted-command-argument",
	"a comment of the file":                 "planted-comment",
	"a password in the log":                 "planted-log-password",
	"a bearer token in the log":             "planted.bearer.token.in.log",
	"basic authorization in the log":        "cGxhbnRlZDpiYXNpYw==",
	"a private key in the log":              "MHcPLANTEDKEYqhkjOPQ",
	"a token of ours in the log":            "rg_plantedplantedplanted",
	"a JSON Web Token in the log":           "eyJwbGFudGVkIjoxfQ.cGxhbnRlZHBheWxvYWQ.c2lnbmF0dXJlcGxhbnRlZA",
	"a token of GitHub in the log":          "ghp_plantedplantedplantedplanted0000",
	"a token of Slack in the log":           "xoxb-planted-planted-planted",
	"a key of AWS in the log":               "AKIAPLANTEDPLANTED00",
	"a token of Telegram in the log":        "123456789:AAplantedplantedplantedplantedplant",
	"a cookie in the log":                   "session=plantedcookie",
	"a key of an API in a URL in the log":   "planted-api-key-in-query",
	"the TSIG secret again, in the log":     "cGxhbnRlZCBzZWNyZXQgb25lIQ==",
	"a variable of the environment":         "planted-environment",
	"an argument of another program":        "planted-on-a-command-line",
	"a comment of a firewall's rule":        "planted-nft-comment",
	"the alias of an interface":             "planted-alias",
	"a secret in the daemon's state folder": "planted-state",
}

// report has one made, and returns what is in it by name, and the names in order.
func (d *daemon) report(directory string, flags ...string) (files map[string]string, names []string) {
	d.t.Helper()
	file := filepath.Join(directory, "report.tar.zst")
	command := d.gateway.Command(context.Background(), program, append([]string{"bugreport", "--instance", d.instance, "-c", d.config, "-w", file}, flags...)...)
	command.Env = append(os.Environ(), "PATH="+directory+":"+os.Getenv("PATH"), "PLANTED_VARIABLE="+planted["a variable of the environment"])
	begun := time.Now()
	out, err := command.CombinedOutput()
	if took := time.Since(begun); err != nil || took > 10*time.Second {
		d.t.Fatalf("after %v: %v: %s", took, err, out)
	} else {
		d.t.Logf("made in %v", took)
	}
	packed, err := os.Open(file)
	if err != nil {
		d.t.Fatal(err)
	}
	defer packed.Close()
	if info, err := packed.Stat(); err != nil || info.Size() > 10<<20 || info.Mode().Perm() != 0o600 {
		d.t.Errorf("%+v, %v", info, err)
	}
	plain, err := zstd.NewReader(packed)
	if err != nil {
		d.t.Fatal(err)
	}
	defer plain.Close()
	files = map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			d.t.Fatal(err)
		}
		name := strings.TrimPrefix(header.Name, "realmgate-bugreport/")
		files[name], names = string(text), append(names, name)
	}
	if names[0] != "CONTENTS.txt" || !strings.Contains(string(out), files[names[0]]) {
		d.t.Errorf("first is %s:\n%s", names[0], out)
	}
	return files, names
}

// has wants a text in each of the files.
func has(t *testing.T, files map[string]string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		if !strings.Contains(files[name], text) {
			t.Errorf("%s lacks %q:\n%.2000s\n%s", name, text, files[name], files["CONTENTS.txt"])
		}
	}
}

// operations.md, done when 20: the bundle has none of the secrets that are planted, wherever they are, and it is made of a gateway
// that is well, that was stopped by SIGSTOP, and that is dead.
func TestBugreport(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	configuration := strings.Replace(r.configuration(), "dns: {", fmt.Sprintf("dns: {keys: [{name: acme., algorithm: hmac-sha256, secret: %q}], ", planted["the secret of a TSIG key"]), 1)
	configuration = with(configuration,
		fmt.Sprintf(`lists: [{name: drop, url: "http://planted-user:%s@198.51.100.53:81/a-path-that-is-private/drop.txt?key=%s"}]`, planted["the password of a URL of the file"], planted["a key of an API in a URL in the log"]),
		"protection: {blocklist: [{list: drop, direction: in}]}",
		fmt.Sprintf(`events: [{name: hook, webhook: "http://127.0.0.1:9/services/%s"}, {name: mail, command: [/bin/true, %q]}]`, planted["the path of a webhook"], planted["an argument of a command"]),
	) + "# " + planted["a comment of the file"] + "\n"
	d := r.start(configuration)

	var log strings.Builder
	for _, line := range []string{
		"password=" + planted["a password in the log"], "Authorization: Bearer " + planted["a bearer token in the log"], "sent Basic " + planted["basic authorization in the log"],
		"-----BEGIN EC PRIVATE KEY-----\n" + planted["a private key in the log"] + "\n-----END EC PRIVATE KEY-----", "created " + planted["a token of ours in the log"],
		"jwt " + planted["a JSON Web Token in the log"], "github " + planted["a token of GitHub in the log"], "slack " + planted["a token of Slack in the log"],
		"aws " + planted["a key of AWS in the log"], "telegram " + planted["a token of Telegram in the log"], "Set-Cookie: " + planted["a cookie in the log"],
		"Get http://a.example/?apikey=" + planted["a key of an API in a URL in the log"] + ": 403", "signed by " + planted["the TSIG secret again, in the log"],
		"level=WARN msg=\"the last line\"",
	} {
		log.WriteString(line + "\n")
	}
	for name, text := range map[string]string{"log": log.String(), "journalctl": fmt.Sprintf("#!/bin/sh\nexec cat %s/log\n", r.directory)} {
		if err := os.WriteFile(filepath.Join(r.directory, name), []byte(text), 0o700); err != nil { //nolint:gosec // one is a program
			t.Fatal(err)
		}
	}
	state := "/var/lib/realmgate/" + d.instance + ".unconfirmed.json" // which removeTraces removes
	if err := os.WriteFile(state, []byte(planted["a secret in the daemon's state folder"]), 0o600); err != nil {
		t.Fatal(err)
	}
	r.command("gateway", "nft", "add table ip p")
	r.command("gateway", "nft", fmt.Sprintf(`add chain ip p c { comment "password: %s"; }`, planted["a comment of a firewall's rule"]))
	r.command("gateway", "ip", "link", "set", "eth1", "alias", "token="+planted["the alias of an interface"])
	other := r.Gateway.Command(context.Background(), "sh", "-c", "read forever", planted["an argument of another program"])
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}

	hides := func(files map[string]string) {
		t.Helper()
		for where, secret := range planted {
			for name, text := range files {
				if strings.Contains(text, secret) {
					t.Errorf("%s has %s", name, where)
				}
			}
		}
	}
	files, _ := d.report(r.directory)
	hides(files)
	has(t, files, map[string]string{
		"doctor.txt": "✔ interfaces", "status.json": `"generation"`, "configuration.yaml": "nameserver: ns.foo.example.", "metrics-1.txt": "realmgate_packets_total",
		"metrics-2.txt": "realmgate_packets_total", "goroutines.txt": "goroutine profile: total", "threads.txt": "wchan:", "log.txt": "the last line",
		"tables.txt": "session_table", "counters-1.txt": "forwarded", "counters-2.txt": "drop_internal", "links.txt": "eth0", "addresses.txt": "198.18.0.1/24",
		"routes.txt": "default via 198.18.0.254", "neighbours.txt": "eth", "nftables.txt": "table ip p", "sysctl.txt": "net.ipv4.conf.eth0.forwarding = 1",
		"ethtool-eth0.txt": "driver: veth", "version.txt": "realmgate", "machine.txt": "MemAvailable",
	})

	files, _ = d.report(r.directory, "--anonymize")
	hides(files)
	for name, text := range files {
		for _, gone := range []string{"198.18.0.", "10.0.0.1", "foo.example", "host1"} {
			if strings.Contains(text, gone) {
				t.Errorf("%s has %s, though its names and addresses are to be others", name, gone)
			}
		}
	}

	if err := d.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	files, _ = d.report(r.directory)
	if err := d.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	hides(files)
	has(t, files, map[string]string{
		"doctor.txt": "has the control socket, and does not answer", "threads.txt": "State:\tT (stopped)", "counters-2.txt": "forwarded", "tables.txt": "session_table",
		"configuration.yaml": "nameserver: ns.foo.example.", "log.txt": "the last line", "CONTENTS.txt": "the daemon did not answer within 2s",
	})

	d.kill()
	files, _ = d.report(r.directory)
	hides(files)
	has(t, files, map[string]string{
		"doctor.txt": "no daemon runs, and its data plane is at work", "counters-2.txt": "forwarded", "tables.txt": "session_table",
		"configuration.yaml": "nameserver: ns.foo.example.", "log.txt": "the last line", "CONTENTS.txt": "no daemon listens at ",
	})
}
