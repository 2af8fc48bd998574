package bench

import (
	"errors"
	"fmt"
)

// DeviceCPU returns the CPU on which the device and the sinks work in the paced
// set-up.
func (o Options) DeviceCPU() int {
	if o.CPU > 0 {
		return o.CPU - 1
	}
	return 1
}

// checkPaced returns an error where tester and device cannot have a CPU each.
func (o Options) checkPaced(cpus int) error {
	if o.Mode == Paced && cpus < 2 {
		return fmt.Errorf("this machine has one CPU, and the paced set-up needs one for the tester and one for the device: use --setup self-clocked")
	}
	return nil
}

// cpus are those whose time counts, or AnyCPU.
func (o Options) cpus() []int {
	if o.Mode == Paced {
		return []int{o.CPU, o.DeviceCPU()}
	}
	return []int{o.CPU}
}

// The sinks go before the device on their CPU: a device with more to do than it can
// would never let them run, and what it has done would be lost on it.
const (
	devicePriority = 1
	sinkPriority   = 2
)

// place moves the work of the device and of the sinks to a CPU of their own.
// Devices make their queues anew when they start, so it is done before every run.
func (r *Rig) place(cpu int) error {
	if r.Device == nil {
		return nil
	}
	return errors.Join(
		r.Device.ThreadNAPI(PrivateInterface, cpu, devicePriority), r.Device.ThreadNAPI(PublicInterface, cpu, devicePriority),
		r.Inside.ThreadNAPI(insideInterface, cpu, sinkPriority), r.Outside.ThreadNAPI(outsideInterface, cpu, sinkPriority))
}

// Thread lets the device and the sinks receive in threads of the kernel, on a CPU or
// on lab.AnyCPU.
func (r *Rig) Thread(cpu int) error {
	r.threads = []int{cpu}
	return errors.Join(r.Host.letRealTimeRun(), r.place(cpu))
}
