package dut

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Words of linux/netfilter/nfnetlink_queue.h.
const (
	queueSubsystem = 3 // NFNL_SUBSYS_QUEUE

	messagePacket       = 0 // NFQNL_MSG_*
	messageConfig       = 2
	messageVerdictBatch = 3

	attributePacketHeader  = 1 // NFQA_*
	attributeVerdictHeader = 2
	attributeMark          = 3
	attributePayload       = 10

	configCommand = 1 // NFQA_CFG_*
	configCopy    = 2
	configLength  = 3

	commandBind = 1 // NFQNL_CFG_CMD_BIND
	copyPacket  = 2 // NFQNL_COPY_PACKET
	accept      = 1 // NF_ACCEPT
)

const (
	netlinkHeader   = 16
	queueHeader     = netlinkHeader + 4 // with struct nfgenmsg
	attributeHeader = 4
)

// queueMessage is a message about one queue, with its attributes.
type queueMessage []byte

func newQueueMessage(kind, flags, queue uint16) queueMessage {
	m := make(queueMessage, queueHeader, 64)
	binary.NativeEndian.PutUint16(m[4:], queueSubsystem<<8|kind)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST|flags)
	binary.BigEndian.PutUint16(m[netlinkHeader+2:], queue) // family and version are 0
	m.finish()
	return m
}

// add appends an attribute.
func (m *queueMessage) add(kind uint16, value ...byte) {
	*m = binary.NativeEndian.AppendUint16(*m, uint16(attributeHeader+len(value)))
	*m = binary.NativeEndian.AppendUint16(*m, kind)
	*m = append(*m, value...)
	*m = append(*m, make([]byte, -len(value)&3)...)
	m.finish()
}

func (m queueMessage) finish() { binary.NativeEndian.PutUint32(m, uint32(len(m))) }

func word(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// verdictTemplate lets every packet up to the one named by setVerdict go on, with a
// mark.
func verdictTemplate(queue uint16) queueMessage {
	m := newQueueMessage(messageVerdictBatch, 0, queue)
	m.add(attributeVerdictHeader, append(word(accept), word(0)...)...)
	m.add(attributeMark, word(0)...)
	return m
}

// setVerdict fills in a verdictTemplate.
func (m queueMessage) setVerdict(last, mark uint32) {
	const header = queueHeader + attributeHeader
	binary.BigEndian.PutUint32(m[header+4:], last)
	binary.BigEndian.PutUint32(m[header+8+attributeHeader:], mark)
}

// queued is a packet that waits for its verdict.
type queued struct {
	id     uint32
	packet []byte // as much of it as was asked for, from the IP header on
}

var errNoPacket = errors.New("the kernel's message holds no queued packet")

// parseQueued reads what the kernel sent about one packet.
func parseQueued(m []byte) (q queued, err error) {
	if len(m) < queueHeader || binary.NativeEndian.Uint16(m[4:]) != queueSubsystem<<8|messagePacket {
		return q, errNoPacket
	}
	known := false
	for rest := m[queueHeader:]; len(rest) >= attributeHeader; {
		length := int(binary.NativeEndian.Uint16(rest))
		if length < attributeHeader || length > len(rest) {
			return q, errNoPacket
		}
		value := rest[attributeHeader:length]
		switch binary.NativeEndian.Uint16(rest[2:]) {
		case attributePacketHeader:
			if known = len(value) >= 4; known {
				q.id = binary.BigEndian.Uint32(value)
			}
		case attributePayload:
			q.packet = value
		}
		rest = rest[min((length+3)&^3, len(rest)):]
	}
	if !known {
		return q, errNoPacket
	}
	return q, nil
}

// parseAnswer reads the kernel's answer to a request with NLM_F_ACK.
func parseAnswer(m []byte) error {
	if len(m) < netlinkHeader+4 || binary.NativeEndian.Uint16(m[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("an answer of %d octets that is none", len(m))
	}
	if code := int32(binary.NativeEndian.Uint32(m[netlinkHeader:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
