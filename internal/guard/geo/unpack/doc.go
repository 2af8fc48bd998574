// Package unpack takes named files out of the packages that geo data is published in:
// Debian's .deb and npm's .tgz. It writes nothing and runs nothing, keeps no state, and
// bounds what a hostile archive can make it hold and do.
package unpack
