package datapath

import (
	"reflect"

	"github.com/cilium/ebpf"
)

// Tables are all maps of the data plane by their names, but those that only the form for
// socket buffers has.
func (d *core) Tables() map[string]*ebpf.Map {
	all := map[string]*ebpf.Map{}
	maps := reflect.ValueOf(d.objects.bpfMaps)
	for i := range maps.NumField() {
		all[maps.Type().Field(i).Tag.Get("ebpf")] = maps.Field(i).Interface().(*ebpf.Map)
	}
	return all
}
