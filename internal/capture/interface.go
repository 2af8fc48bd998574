package capture

import "net"

// interfaceNames are by index. There is a handful.
type interfaceNames map[int]string

// of is the name of one that is there, or was.
func (n interfaceNames) of(index int) string {
	name, known := n[index]
	if !known {
		if i, err := net.InterfaceByIndex(index); err == nil {
			name = i.Name
		}
		n[index] = name
	}
	return name
}
