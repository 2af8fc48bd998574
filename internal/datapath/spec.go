package datapath

import (
	"sync"

	"github.com/cilium/ebpf"
)

// Each compiled object is read once in a process: that takes longer than to adopt a data plane.
var (
	xdpSpec    = readOnce(loadBpf)
	tcxSpec    = readOnce(loadTcx)
	egressSpec = readOnce(loadEgress)
)

// readOnce gives a copy to each caller, who may change it.
func readOnce(read func() (*ebpf.CollectionSpec, error)) func() (*ebpf.CollectionSpec, error) {
	once := sync.OnceValues(read)
	return func() (*ebpf.CollectionSpec, error) {
		spec, err := once()
		if err != nil {
			return nil, err
		}
		return spec.Copy(), nil
	}
}
