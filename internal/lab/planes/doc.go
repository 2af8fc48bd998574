// Package planes keeps data planes ready for tests. The kernel verifies the programs of a new one for a second and more; to
// adopt one whose tables are as new takes milliseconds.
package planes
