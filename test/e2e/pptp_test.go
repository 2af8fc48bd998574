package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
)

// What PPTP needs of RFC 2637: messages of its control connection (section 2), and GRE version 1 (section 4.1).
const (
	pptpPort    = 1723
	pptpCookie  = 0x1a2b3c4d
	startAsk    = 1
	startAnswer = 2
	callAsk     = 7
	callAnswer  = 8
	hostCall    = 0x1111 // call ID of who begins
	serverCall  = 0x2222
	pptpDone    = 1 // result of an answer: it stands
)

// pptpSizes are lengths of control messages by type.
var pptpSizes = map[uint16]int{startAsk: 156, startAnswer: 156, callAsk: 168, callAnswer: 32}

// pptpMessage is a control message; what is not filled in is zero.
func pptpMessage(kind uint16, fill func(b []byte)) []byte {
	b := make([]byte, pptpSizes[kind])
	binary.BigEndian.PutUint16(b, uint16(len(b)))
	binary.BigEndian.PutUint16(b[2:], 1) // a control message
	binary.BigEndian.PutUint32(b[4:], pptpCookie)
	binary.BigEndian.PutUint16(b[8:], kind)
	fill(b)
	return b
}

// readPPTP reads a control message that has to be of a type.
func readPPTP(from io.Reader, kind uint16) ([]byte, error) {
	b := make([]byte, pptpSizes[kind])
	if _, err := io.ReadFull(from, b); err != nil {
		return nil, fmt.Errorf("message %d of PPTP: %w", kind, err)
	}
	if got := binary.BigEndian.Uint16(b[8:]); binary.BigEndian.Uint32(b[4:]) != pptpCookie || got != kind {
		return nil, fmt.Errorf("message %d of PPTP instead of %d", got, kind)
	}
	return b, nil
}

func startMessage(kind uint16) []byte {
	return pptpMessage(kind, func(b []byte) {
		binary.BigEndian.PutUint16(b[12:], 0x0100) // version
		if kind == startAnswer {
			b[14] = pptpDone
		}
	})
}

// greFrame is a packet of GRE version 1 for a call of the receiver's, with a request or an answer of LCP in PPP.
func greFrame(call uint16, code byte) []byte {
	lcp := []byte{0xff, 0x03, 0xc0, 0x21, code, 1, 0, 4}
	b := []byte{0x30, 0x01, 0x88, 0x0b, 0, byte(len(lcp))} // with key and sequence number
	b = binary.BigEndian.AppendUint16(b, call)
	return append(binary.BigEndian.AppendUint32(b, 0), lcp...)
}

const (
	lcpRequest = 1
	lcpAnswer  = 2
)

func openGRE(at netns.Node) (net.PacketConn, error) { return speaker{protocol: model.GRE}.open(at) }

// pptpServer accepts calls, and answers by GRE as long as the control connection stands.
func pptpServer(t *testing.T, at netns.Node) {
	t.Helper()
	accepts(t, at, pptpPort, func(control net.Conn) { _ = takeCall(at, control) }) // who called hears nothing of an error
}

func takeCall(at netns.Node, control net.Conn) error {
	defer control.Close()
	_ = control.SetDeadline(time.Now().Add(time.Minute))
	if _, err := readPPTP(control, startAsk); err != nil {
		return err
	}
	if _, err := control.Write(startMessage(startAnswer)); err != nil {
		return err
	}
	ask, err := readPPTP(control, callAsk)
	if err != nil {
		return err
	}
	call := binary.BigEndian.Uint16(ask[12:])
	gre, err := openGRE(at)
	if err != nil {
		return err
	}
	defer gre.Close()
	if _, err := control.Write(pptpMessage(callAnswer, func(b []byte) {
		binary.BigEndian.PutUint16(b[12:], serverCall)
		binary.BigEndian.PutUint16(b[14:], call)
		b[16] = pptpDone
	})); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, control)
		_ = gre.Close()
	}()
	buffer := make([]byte, 2048)
	for {
		n, from, err := gre.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if bytes.Equal(buffer[:n], greFrame(serverCall, lcpRequest)) {
			_, _ = gre.WriteTo(greFrame(call, lcpAnswer), from) // lost, as on a link
		}
	}
}

// pptp makes a call, and asks by GRE until the answer comes for the call that it made.
func pptp(ctx context.Context, from netns.Node, to netip.Addr) error {
	control, err := from.DialContext(ctx, "tcp4", fmt.Sprintf("%s:%d", to, pptpPort))
	if err != nil {
		return err
	}
	defer control.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = control.SetDeadline(deadline)
	}
	if _, err := control.Write(startMessage(startAsk)); err != nil {
		return err
	}
	if _, err := readPPTP(control, startAnswer); err != nil {
		return err
	}
	if _, err := control.Write(pptpMessage(callAsk, func(b []byte) {
		binary.BigEndian.PutUint16(b[12:], hostCall)
		binary.BigEndian.PutUint32(b[24:], 3) // any bearer
		binary.BigEndian.PutUint32(b[28:], 3) // any framing
		binary.BigEndian.PutUint16(b[32:], 64)
	})); err != nil {
		return err
	}
	answer, err := readPPTP(control, callAnswer)
	if err != nil {
		return err
	}
	if call := binary.BigEndian.Uint16(answer[14:]); call != hostCall {
		return fmt.Errorf("the answer is for call %#x, not %#x", call, hostCall)
	}
	call := binary.BigEndian.Uint16(answer[12:])
	return speaker{
		protocol: model.GRE,
		question: func(_, _ netip.Addr) []byte { return greFrame(call, lcpRequest) },
		answer:   func(_, _ netip.Addr) []byte { return greFrame(hostCall, lcpAnswer) },
	}.ask(ctx, from, to)
}
