package netdev

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// NAPI instances, an interface's receive queues (Linux 6.8).
const (
	netdevCommandNAPIGet = 11
	napiIfindex          = 1
	napiPID              = 4
)

const answerSeconds = 5 // that the kernel may take

// NAPIThreads returns the process ids of the threads that receive on the interface
// with that number; there are none unless it was told to use threads. Their names do
// not tell the namespace, but the kernel does.
func NAPIThreads(ifindex int) (pids []int, err error) {
	family, err := netlink.GenlFamilyGet(netdevFamily)
	if err != nil {
		return nil, fmt.Errorf("find the netlink family %s, which Linux 6.8 has: %w", netdevFamily, err)
	}
	request := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
	request.AddData(genericHeader{netdevCommandNAPIGet, 1})
	request.AddData(nl.NewRtAttr(napiIfindex, nl.Uint32Attr(uint32(ifindex))))
	messages, err := dump(request)
	if err != nil {
		return nil, fmt.Errorf("list the queues of interface %d: %w", ifindex, err)
	}
	for _, message := range messages {
		attributes, err := nl.ParseRouteAttr(message.Data[nl.SizeofGenlmsg:])
		if err != nil {
			return nil, fmt.Errorf("read the queues of interface %d: %w", ifindex, err)
		}
		for _, a := range attributes {
			if a.Attr.Type&nl.NLA_TYPE_MASK == napiPID && len(a.Value) >= 4 {
				pids = append(pids, int(nl.NativeEndian().Uint32(a.Value)))
			}
		}
	}
	return pids, nil
}

// dump returns all answers to a request. The library's own call takes only the
// first where the kernel does not mark them as several, as this family's are not.
func dump(request *nl.NetlinkRequest) (answers []syscall.NetlinkMessage, err error) {
	socket, err := nl.Subscribe(unix.NETLINK_GENERIC)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	if err := errors.Join(socket.SetReceiveTimeout(&unix.Timeval{Sec: answerSeconds}), socket.Send(request)); err != nil {
		return nil, err
	}
	for {
		messages, _, err := socket.Receive()
		if err != nil {
			return nil, err
		}
		for _, message := range messages {
			switch message.Header.Type {
			case unix.NLMSG_DONE:
				return answers, nil
			case unix.NLMSG_ERROR:
				return nil, unix.Errno(-int32(nl.NativeEndian().Uint32(message.Data)))
			}
			answers = append(answers, message)
		}
	}
}
