package bench

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
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

// wantTools wants every program that the devices run, and names all that are missing
// in a line.
func wantTools(devices []Model) error {
	var missing, packages []string
	for _, m := range devices {
		for _, tool := range m.Tools {
			if _, err := exec.LookPath(tool); err != nil {
				missing = append(missing, fmt.Sprintf("%s needs %s", m.Name, tool))
				if name := packageOf(tool); !slices.Contains(packages, name) {
					packages = append(packages, name)
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("not installed: %s. Run apt-get install %s, or choose other devices with --dut", strings.Join(missing, ", "), strings.Join(packages, " "))
}

func packageOf(tool string) string {
	if name, ok := debianPackages[tool]; ok {
		return name
	}
	return tool
}
