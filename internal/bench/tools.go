package bench

import (
	"errors"
	"fmt"
	"os/exec"
)

// debianPackages name what to install for a program, where it is not the
// program's own name.
var debianPackages = map[string]string{
	"nft":                     "nftables",
	"iptables-restore":        "iptables",
	"iptables-legacy":         "iptables",
	"iptables-legacy-restore": "iptables",
	"iptables-nft":            "iptables",
	"iptables-nft-restore":    "iptables",
}

// wantTools wants every program that the devices run.
func wantTools(devices []Model) error {
	var missing error
	for _, m := range devices {
		for _, tool := range m.Tools {
			if _, err := exec.LookPath(tool); err != nil {
				missing = errors.Join(missing, fmt.Errorf("%s needs %s, which is not installed: apt-get install %s, or leave it out by --dut",
					m.Name, tool, packageOf(tool)))
			}
		}
	}
	return missing
}

func packageOf(tool string) string {
	if name, ok := debianPackages[tool]; ok {
		return name
	}
	return tool
}
