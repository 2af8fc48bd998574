// Package honeypot bans sources that complete a handshake with the honeypot, at once all that came while the bans were busy
// with others. It reports ports of the honeypot that a program of the gateway listens at.
//
// A Service keeps what waits for a ban. Its methods may be called concurrently.
package honeypot
