package browser

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// fetchQUIC gets a line of text by HTTP/3 from an address, over a connection of its own from a port; 0 is any. Without the post-quantum key exchange, which
// is quic-go's default, the hello is one datagram. wrap may change what the socket sends; nil leaves it.
func fetchQUIC(from netns.Node, port uint16, address netip.Addr, name, path string, roots *x509.CertPool, wrap func(net.PacketConn) net.PacketConn, curves ...tls.CurveID) (string, error) {
	socket, err := from.ListenPacket("udp4", netip.AddrPortFrom(from.IP, port).String())
	if err != nil {
		return "", err
	}
	defer socket.Close()
	if wrap != nil {
		socket = wrap(socket)
	}
	transport := &http3.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13, CurvePreferences: curves},
		Dial: func(ctx context.Context, _ string, config *tls.Config, settings *quic.Config) (*quic.Conn, error) {
			return quic.DialEarly(ctx, socket, net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, 443)), config, settings)
		},
	}
	defer transport.Close()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	reply, err := client.Get("https://" + strings.TrimSuffix(name, ".") + path)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 4096))
	return strings.TrimSpace(string(text)), err
}
