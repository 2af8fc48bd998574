package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"time"
)

type question struct {
	ID   uint64 `json:"id"`
	Data []byte `json:"data"` // encoding/json reads base64
}

type answer struct {
	ID      uint64 `json:"id"`
	Verdict string `json:"verdict"`
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: by-tls-name SOCKET NAME...")
	}
	path, denied := os.Args[1], os.Args[2:]
	_ = os.Remove(path) //nolint:gosec // of a run before; whoever starts it names it
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	for {
		gateway, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(gateway, denied)
	}
}

func serve(gateway net.Conn, denied []string) {
	defer gateway.Close()
	questions, answers := json.NewDecoder(gateway), json.NewEncoder(gateway)
	for {
		var q question
		if err := questions.Decode(&q); err != nil {
			return
		}
		if err := answers.Encode(answer{q.ID, verdict(q.Data, denied)}); err != nil {
			return
		}
	}
}

func verdict(data []byte, denied []string) string {
	name, err := serverName(data)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "more"
	case err != nil:
		return "drop" // what cannot be read is not let through
	}
	for _, d := range denied {
		if name == d || strings.HasSuffix(name, "."+d) {
			return "drop"
		}
	}
	return "accept"
}

// serverName reads a client's hello as crypto/tls does. io.EOF says that it has not come whole.
func serverName(data []byte) (name string, err error) {
	read := errors.New("the hello has been read")
	server := tls.Server(&hello{Reader: bytes.NewReader(data)}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name = strings.ToLower(h.ServerName)
			return nil, read
		},
	})
	if err := server.Handshake(); !errors.Is(err, read) {
		return "", err
	}
	return name, nil
}

// hello is a connection of which a client's first bytes have come.
type hello struct{ io.Reader }

func (*hello) Write(b []byte) (int, error)      { return len(b), nil }
func (*hello) Close() error                     { return nil }
func (*hello) LocalAddr() net.Addr              { return nil }
func (*hello) RemoteAddr() net.Addr             { return nil }
func (*hello) SetDeadline(time.Time) error      { return nil }
func (*hello) SetReadDeadline(time.Time) error  { return nil }
func (*hello) SetWriteDeadline(time.Time) error { return nil }
