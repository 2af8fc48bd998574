package datapath

import (
	"sync"
	"weak"

	"github.com/cilium/ebpf"
)

// To read a compiled object takes longer than to adopt a data plane, and who opens one reads each object twice.
var (
	xdpSpec    = kept(loadBpf)
	tcxSpec    = kept(loadTcx)
	egressSpec = kept(loadEgress)
)

// kept gives a copy to each caller, who may change it. What was read is kept until its memory is wanted: 12 MiB of both
// forms would lie in a daemon that never needs them again.
func kept(read func() (*ebpf.CollectionSpec, error)) func() (*ebpf.CollectionSpec, error) {
	var mutex sync.Mutex
	var last weak.Pointer[ebpf.CollectionSpec]
	return func() (*ebpf.CollectionSpec, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if spec := last.Value(); spec != nil {
			return spec.Copy(), nil
		}
		spec, err := read()
		if err != nil {
			return nil, err
		}
		last = weak.Make(spec)
		return spec.Copy(), nil
	}
}
