// Package browser tests with the programs that people use: Debian's Chromium
// and Firefox, a Java program, and programs that resolve a name once, each in a
// network namespace of its own behind a resolver as Debian sets it up.
//
// Four kinds of test are here. The story is a page of 60 resources over three
// names behind the gateway, visited again after pauses in which the web server
// has closed its connections and addresses may have been lent to others: never a
// wrong host, never a hang. The matrix is the same for every scheme, pool and
// pause. What hold measures needs no gateway: how long a program goes on
// connecting to an address that the name no longer has. A farm has many web sites
// behind one address, beside the same ones without it and behind nginx. The matrix,
// hold and farms of hundreds of sites take more than an hour, in parts of their own:
// see docs/guide/develop.md.
//
// A browser is driven through its own protocol, Chromium's CDP and Firefox's
// WebDriver BiDi. Both are JSON over a WebSocket, so that one small client (wire)
// serves both. Nothing leaves the test's namespaces.
//
// REALMGATE_PROGRAM names a realmgate to test in place of the one that is built.
package browser
