package demo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"
)

// The part that a process of realmgate plays in the demo; see Act.
const (
	partWeb      = "web"
	partSites    = "sites"
	partEcho     = "echo"
	partResolver = "resolver"
)

const (
	lineEvery       = 50 * time.Millisecond
	youCameFrom     = "You came from "
	checksumTrailer = "Content-Sha256"

	// The large file takes about three seconds.
	downloadSize  = 30_000_000
	downloadChunk = 100_000
	downloadEvery = 10 * time.Millisecond // per chunk
)

// Act plays a part, until the process is killed or ctx ends. The demo starts it
// in a namespace, with the sockets to serve on as descriptors 3 and 4.
//
//	web NAME GREETING
//	sites NAME SITE…
//	echo NAME
//	resolver GATEWAY NAME ADDRESS
func Act(ctx context.Context, part []string) error {
	switch {
	case len(part) == 3 && part[0] == partWeb:
		listener, err := net.FileListener(os.NewFile(3, "web"))
		if err != nil {
			return fmt.Errorf("take over the socket of %s: %w", part[1], err)
		}
		return serveWeb(ctx, listener, part[1], part[2])
	case len(part) >= 3 && part[0] == partSites:
		listener, err := net.FileListener(os.NewFile(3, "sites"))
		if err != nil {
			return fmt.Errorf("take over the socket of %s: %w", part[1], err)
		}
		return serveSites(ctx, listener, part[1], part[2:])
	case len(part) == 2 && part[0] == partEcho:
		packets, err := net.FilePacketConn(os.NewFile(3, "echo"))
		if err != nil {
			return fmt.Errorf("take over the socket of %s: %w", part[1], err)
		}
		return serveEcho(ctx, packets)
	case len(part) == 4 && part[0] == partResolver:
		r, err := newResolver(part[1], part[2], part[3])
		if err != nil {
			return err
		}
		packets, err := net.FilePacketConn(os.NewFile(3, "resolver"))
		if err != nil {
			return fmt.Errorf("take over the socket of the resolver: %w", err)
		}
		return r.serve(ctx, packets)
	}
	return errors.New("this command is only for the demo itself")
}

// cast starts a part in somebody's namespace.
func (s *stage) cast(who person, socket interface{ File() (*os.File, error) }, part ...string) error {
	file, err := socket.File()
	if err != nil {
		return fmt.Errorf("hand the socket to %s: %w", who.name, err)
	}
	defer file.Close()
	command := who.Command(context.Background(), s.options.Executable, append([]string{"demo", "act"}, part...)...)
	command.ExtraFiles = []*os.File{file}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", who.name, err)
	}
	return nil
}

// castWeb makes somebody serve a page. Connections wait in the socket until the
// process is ready.
func (s *stage) castWeb(who person, port uint16) error {
	listener, err := who.Listen("tcp4", netip.AddrPortFrom(who.IP, port).String())
	if err != nil {
		return err
	}
	defer listener.Close()
	return s.cast(who, listener.(*net.TCPListener), partWeb, who.name, s.options.greeting(who.name))
}

// castEcho makes somebody answer every packet with the same.
func (s *story) castEcho(who person, port uint16) error {
	packets, err := who.ListenPacket("udp4", netip.AddrPortFrom(who.IP, port).String())
	if err != nil {
		return err
	}
	defer packets.Close()
	return s.cast(who, packets.(*net.UDPConn), partEcho, who.name)
}

func (s *story) castResolver(who person, gateway netip.Addr, website string, address netip.Addr) error {
	packets, err := who.ListenPacket("udp4", netip.AddrPortFrom(who.IP, 53).String())
	if err != nil {
		return err
	}
	defer packets.Close()
	return s.cast(who, packets.(*net.UDPConn), partResolver, gateway.String(), website, address.String())
}

func serveEcho(ctx context.Context, packets net.PacketConn) error {
	stop := context.AfterFunc(ctx, func() { _ = packets.Close() })
	defer stop()
	buffer := make([]byte, 2048)
	for {
		n, from, err := packets.ReadFrom(buffer)
		if err != nil {
			return err
		}
		_, _ = packets.WriteTo(buffer[:n], from) // who gets no answer asks again
	}
}

// serveWeb serves a page, lines without end, and a large file.
func serveWeb(ctx context.Context, listener net.Listener, name, says string) error {
	pages := http.NewServeMux()
	pages.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, "%s\n%s%s\n", says, youCameFrom, r.RemoteAddr) //nolint:gosec // G705: plain text, of our own words and the socket's address
	})
	pages.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		for n := 1; r.Context().Err() == nil; n++ {
			if _, err := fmt.Fprintf(w, "%s %d\n", name, n); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
	})
	pages.HandleFunc("/download", serveDownload)
	server := &http.Server{Handler: pages, ReadHeaderTimeout: patience}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveDownload sends random octets at a bounded rate, and then their checksum.
func serveDownload(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	sum := sha256.New()
	to := io.MultiWriter(sum, w)
	tick := time.NewTicker(downloadEvery)
	defer tick.Stop()
	chunk := make([]byte, downloadChunk)
	for range downloadSize / downloadChunk {
		_, _ = rand.Read(chunk) // never fails (crypto/rand)
		if _, err := to.Write(chunk); err != nil {
			return
		}
		<-tick.C
	}
	w.Header().Set(http.TrailerPrefix+checksumTrailer, hex.EncodeToString(sum.Sum(nil)))
}
