// Package api is the control API: HTTP and JSON. By its Unix socket the kernel says who asks: root and the gateway's user may
// all, members of the groups realmgate-read, realmgate-operate and realmgate-admin what their role may; without such
// groups nobody else can open it. Package access serves it over TCP. It sees the gateway through the Gateway interface and keeps no
// state but the last answer about readiness; its handlers may run concurrently.
//
// Routes are all requests; openapi.json describes them and is made of them by a test. What goes wrong before an answer begins is
// a Problem (RFC 9457), what goes wrong in the middle of a stream is a Failed as its last line. A stream that ends
// without it, and with the closing chunk of HTTP, is complete.
package api
