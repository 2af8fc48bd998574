// Package api is the control API: HTTP and JSON over a Unix socket that only
// root can open. It sees the gateway through the Gateway interface and keeps no
// state; its handlers may run concurrently.
package api
