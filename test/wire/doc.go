// Package wire speaks to browsers in their own protocols, Chromium's CDP and Firefox's WebDriver BiDi: JSON over a WebSocket. It
// keeps no state but that of its connection.
package wire
