// Command by-tls-name drops connections of TLS to names, and to all below them: by-tls-name SOCKET NAME...
//
// A program for the function "ask" with first: bytes. It answers each line of JSON with one: docs/guide/ask.md.
//
// It keeps no state; each connection of the gateway is served by itself.
package main
