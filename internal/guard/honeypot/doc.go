// Package honeypot has those banned who complete a handshake with a trap, all at once who came while the bans were busy with
// others. It says where a trap is at a port that a program of the gateway listens at.
//
// A Service keeps who waits for a ban. Its methods may be called concurrently.
package honeypot
