package dut

import "github.com/realmgate/realmgate/internal/lab/bench"

var iptablesNFT = bench.Model{
	Name:  "iptables-nft",
	About: "the same rules by iptables-nft, which makes nftables of them",
	Tools: []string{"iptables-nft-restore"},
	Bytes: netfilterBytes,
	New:   func() bench.Device { return &iptablesDevice{restore: "iptables-nft-restore"} },

	PassesInvalid: true,
}
