package doctor

import (
	"fmt"
	"strings"
)

// leastKernel is the oldest Linux with what the data plane uses.
var leastKernel = [2]int{6, 1}

func kernel(f *Facts) verdict {
	k := f.Kernel
	var major, minor int
	_, _ = fmt.Sscanf(k.Release, "%d.%d", &major, &minor) // zeros are old
	var faults []Fault
	if major < leastKernel[0] || major == leastKernel[0] && minor < leastKernel[1] {
		faults = append(faults, bad(fmt.Sprintf("Linux %s is older than %d.%d", k.Release, leastKernel[0], leastKernel[1]), "install a newer kernel"))
	}
	if len(k.Lacks) > 0 {
		faults = append(faults, bad("the kernel lacks "+strings.Join(k.Lacks, ", "), "boot a kernel with CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_NET_CLS_BPF"))
	}
	return either("Linux "+k.Release+" has what the data plane uses", faults)
}

func bpffs(f *Facts) verdict {
	if !f.Kernel.BPFFS {
		return verdict{faults: []Fault{bad("/sys/fs/bpf is no BPF file system: sessions would end with the daemon", "mount -t bpf bpf /sys/fs/bpf")}}
	}
	return either("/sys/fs/bpf is mounted", nil)
}

func lockdown(f *Facts) verdict {
	if f.Kernel.Lockdown == "confidentiality" {
		return verdict{faults: []Fault{bad("the kernel is locked down for confidentiality, and BPF programs may not read packets' tables", "boot with lockdown=integrity")}}
	}
	return either("BPF programs may run: "+f.Kernel.Lockdown, nil)
}

func capabilities(f *Facts) verdict {
	if f.Kernel.Capabilities != "" {
		what, remedy, _ := strings.Cut(f.Kernel.Capabilities, ": ")
		return verdict{faults: []Fault{bad(what, remedy)}}
	}
	return either("this process may load and attach programs", nil)
}
