// Package web leads connections to web addresses to the hosts whose names they ask for. The data plane (bpf/handshake)
// answers a client's SYN and hands over what the client then sends; this package reads the name, says where the connection
// goes, and has the frames sent again when the host has answered. From then on the connection is a session like any other,
// and nothing of it is here.
package web
