package datapath

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Frames of the daemon's leave as they are, also those that are longer than a page, as on links with a large MTU.
func TestSendsFrames(t *testing.T) {
	t.Parallel()
	g := newGateway(t, func(s *setup) { s.link = append(s.link, netns.MTU(16000)) })
	frames := must(g.outside.Frames("eth0"))(t)
	defer frames.Close()
	headers := len(addressed(udp(server, endpoint(remote, 7))).Bytes())
	for _, length := range []int{headers, 60, 1514, 3583, 3584, 3585, 3584 + 4095, 3584 + 4096, 3584 + 4097, 9014, 15872} {
		payload := bytes.Repeat([]byte("0123456789abcdef"), 1000)[:length-headers]
		want := addressed(udp(endpoint(outbound, 9), endpoint(remote, 7))).Change(func(p *packets.Packet) { p.Payload = payload }).Bytes()
		g.in(func() error { return g.data.SendInside(g.public, want) })
		for {
			got, err := frames.Receive(time.Now().Add(10 * time.Second))
			if err != nil {
				t.Fatalf("%d octets: %v", length, err)
			}
			if bytes.Equal(got, want) {
				break
			}
		}
	}
	g.in(func() error {
		if err := g.data.SendInside(g.public, make([]byte, 15873)); !errors.Is(err, unix.EMSGSIZE) {
			return fmt.Errorf("a frame that is too long: %w", err)
		}
		if err := g.data.SendInside(1<<20, make([]byte, 60)); err == nil {
			return errors.New("a frame was sent by no interface")
		}
		return nil
	})
}
