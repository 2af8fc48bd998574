// Package hello reads which name the first octets of a connection ask for: the
// server_name of a TLS ClientHello, the Host of an HTTP request, and both inside
// what carries them (TCP segments, QUIC Initials). Only the outer name of
// Encrypted Client Hello can be read.
//
// crypto/tls shows a ClientHello to GetConfigForClient, too. It takes 20 times as long
// and 37 allocations instead of one, begins again with each segment, and judges
// extensions that are the host's business; net/http.ReadRequest does likewise with
// targets and codings, and takes folded lines. quic-go exports nothing that opens an
// Initial. So the walk is our own, over cryptobyte and hpack, which check each length.
//
// Pure: no sockets, no clock, no state but what a Stream or an Initials holds, and
// these are bounded. TLS, HTTP and Sniff are safe for concurrent use; a Stream or an
// Initials has one user at a time.
package hello
