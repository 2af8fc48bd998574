// Package ability knows what the hosts of the web can: whose TCP has which options, and which names their certificates
// cover. Of that it makes what each web address may promise its clients before it knows whom they want, and at which
// address each host is: hosts whose certificates cover each other's names are kept apart, as browsers take a connection to
// one for the other (RFC 9113 section 9.1.1).
//
// What is known and what follows of it is pure, with the clock passed in; ask.go does the I/O, and Service, which may be
// used by several goroutines, joins them.
package ability
