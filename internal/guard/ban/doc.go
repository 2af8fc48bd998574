// Package ban is the whole of a ban: which remote addresses and prefixes are banned and until when (List), how offenders
// earn longer ones (Offences), who must not be banned (Exempt, ExemptSet), and what keeps kernel and disk in step with that
// (Service).
//
// A Service owns the buckets "bans" and "offences" of the instance's file, and all that the kernel is told of bans. Its
// methods may be called concurrently. It waits for the disk under its lock: who must not wait for bans calls ExemptSoon.
// All other types have no lock, no clock and no table of their own.
package ban
