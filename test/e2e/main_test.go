package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the realmgate program that TestMain builds.
var program string

// tools are the programs that the tests need from Debian.
var tools = []string{"unbound", "dig", "curl", "nginx", "caddy", "iperf3", "wrk", "dnsperf", "ethtool", "ip", "ipset", "iptables-restore",
	"nft", "nmap", "openssl", "setpriv", "unshare", "vsftpd", "lftp", "swaks", "git", "knotd", "nsd", "nsupdate", "dnsmasq", "openvpn", "ping", "prometheus", "promtool", "sipp", "tshark", "udhcpc", "wg", "wireguard-go"}

func TestMain(m *testing.M) {
	flag.Parse()
	if missing := whatIsMissing(); missing != "" {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "FAIL:", missing)
			os.Exit(1)
		}
		fmt.Println("skipped:", missing)
		return
	}
	if *asUser {
		if err := ownMounts(); err != nil {
			panic(err)
		}
	}
	directory, err := os.MkdirTemp("", "realmgate-e2e-")
	if err == nil {
		err = os.Chmod(directory, 0o755) //nolint:gosec // users run what is in it
	}
	if err != nil {
		panic(err)
	}
	program = filepath.Join(directory, "realmgate")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../cmd/realmgate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building realmgate:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

func whatIsMissing() string {
	if os.Geteuid() != 0 {
		return "whole-gateway tests need root"
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return "whole-gateway tests need " + tool + ": run make deps"
		}
	}
	return ""
}
