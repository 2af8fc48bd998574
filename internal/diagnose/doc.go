// Package diagnose says where a configuration and the machine that it is for do not fit:
// what newcomers hit and no packet tells of. [Setup.Doubts] and [Setup.Compare] are pure:
// a setup and facts in, warnings out, each a line that says what is wrong and what to do.
// [Collect] asks the kernel for the facts, and [Neighbours] asks the neighbours by ARP
// whether they have an address (RFC 5227).
//
// The package changes nothing. All but Neighbours is without state; its methods may be
// called concurrently.
package diagnose
