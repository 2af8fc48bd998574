package datapath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// ErrServicesFull says that Options.Services are open.
var ErrServicesFull = errors.New("the table of services is full")

// lastingFor is for how many generations what is open by itself passes for new: a service is open to older ones.
const lastingFor = 1 << 30

// atOnce is how many services are opened by one call.
const atOnce = 4096

// OpenServices opens services whatever generation is in force: SetPolicy leaves them as they are, until CloseServices. It costs
// nothing for all others. On an error none is open that was not.
func (d *policyTable) OpenServices(services []Service) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.lasting == nil {
		var control bpfControl
		if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
			return fmt.Errorf("read the generation in force: %w", err)
		}
		d.lasting, d.lastingSince = map[bpfService]bool{}, control.Generation+lastingFor
	}
	var fresh []bpfService
	for _, s := range services {
		if key := s.record(); !d.lasting[key] {
			d.lasting[key] = true
			fresh = append(fresh, key)
		}
	}
	for rest := fresh; len(rest) > 0; {
		n := min(len(rest), atOnce)
		values := make([]uint32, n)
		for i := range values {
			values[i] = d.lastingSince
		}
		if _, err := d.objects.ServiceTable.BatchUpdate(rest[:n], values, nil); err != nil {
			if errors.Is(err, unix.E2BIG) {
				err = ErrServicesFull
			}
			return errors.Join(fmt.Errorf("open %d services: %w", len(services), err), d.closeLasting(fresh))
		}
		rest = rest[n:]
	}
	return nil
}

// CloseServices closes what OpenServices opened. Sessions that stand go on until they end or are judged again: see EndSessions.
func (d *policyTable) CloseServices(services []Service) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var keys []bpfService
	for _, s := range services {
		if key := s.record(); d.lasting[key] {
			keys = append(keys, key)
		}
	}
	return d.closeLasting(keys)
}

// closeLasting leaves open what the generation in force has open.
func (d *policyTable) closeLasting(keys []bpfService) error {
	var control bpfControl
	if err := d.objects.ControlTable.Lookup(uint32(0), &control); err != nil {
		return fmt.Errorf("read the generation in force: %w", err)
	}
	open, err := d.openServices()
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range keys {
		delete(d.lasting, key)
		if open[key] {
			err = d.objects.ServiceTable.Put(&key, control.Generation)
		} else if err = d.objects.ServiceTable.Delete(&key); errors.Is(err, ebpf.ErrKeyNotExist) {
			err = nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("close port %d of %s: %w", swap(key.Port), addressOf(key.Host), err))
		}
	}
	return errors.Join(errs...)
}
