package e2e

import (
	"flag"
	"testing"

	"github.com/realmgate/realmgate/test/lab"
)

// program is the realmgate program that TestMain builds.
var program string

// tools are the programs that the tests need from Debian.
var tools = []string{"unbound", "dig", "curl", "nginx", "caddy", "iperf3", "wrk", "dnsperf", "ethtool", "ip", "ipset", "iptables-restore",
	"nft", "nmap", "openssl", "setpriv", "unshare", "vsftpd", "lftp", "swaks", "git", "knotd", "nsd", "nsupdate", "dnsmasq", "openvpn", "ping", "prometheus", "promtool", "sipp", "strace", "tshark", "udhcpc", "wg", "wireguard-go"}

var eventually = lab.Eventually

func TestMain(m *testing.M) {
	flag.Parse()
	w := lab.Whole{Name: "whole-gateway tests", Tools: tools, Program: &program}
	if *asUser {
		w.Prepare = ownMounts
	}
	w.Main(m)
}
