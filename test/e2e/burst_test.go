package e2e

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab"
)

// Many questions at once wait for the name server; none is lost.
func TestBurstOfQuestions(t *testing.T) {
	const sockets, each = 16, 64
	r := newRealm(t, lab.Options{Hosts: 1, Clients: 1})
	r.start(r.configuration())
	var asking sync.WaitGroup
	for range sockets {
		connection, err := r.Clients[0].DialContext(context.Background(), "udp4", r.Gateway.PublicAddress.String()+":53")
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		asking.Go(func() { askMany(t, connection, each) })
	}
	asking.Wait()
}

// askMany sends n questions without waiting and then wants n answers.
func askMany(t *testing.T, connection net.Conn, n int) {
	for id := range n {
		if _, err := connection.Write(question(uint16(id), "www.host1.foo.example.")); err != nil {
			t.Error(err)
			return
		}
	}
	buffer := make([]byte, 512)
	_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
	for got := range n {
		if _, err := connection.Read(buffer); err != nil {
			t.Errorf("%d of %d questions at once were answered: %v", got, n, err)
			return
		}
	}
}
