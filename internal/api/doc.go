// Package api is the control API: HTTP and JSON over a Unix socket. The kernel says who asks: root and the gateway's user may
// all, members of the groups realmgate-read, realmgate-operate and realmgate-admin what their role may; without such
// groups nobody else can open it. It sees the gateway through the Gateway interface and keeps no
// state; its handlers may run concurrently.
//
//	GET  /v1/status        Status
//	GET  /v1/sessions      a Session per line
//	GET  /v1/pool          a list of Binding
//	GET  /v1/hosts         a list of Host
//	GET  /v1/drops         a Drop per line, live
//	GET  /v1/capture       a Packet per line, live: CaptureRequest says which
//	POST /v1/reload        Reload
//	POST /v1/handover      Handover
//	POST /v1/sessions/end  Ended
//
// The four listings and the end of sessions take the query parameters address, port, protocol and host:
// see Filter. That of sessions takes after and limit, too: see Page. What goes wrong before the answer begins is a status code and
// {"error": "..."}; what goes wrong in the middle of a stream is that object as
// its last line. An unknown path is 404, another method 405, in plain text. A stream that ends without it, and with the closing chunk of
// HTTP, is complete.
package api
