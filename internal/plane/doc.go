// Package plane is the data plane as a service: it opens the tables that a configuration needs, says whether they can take
// the next one, puts addresses and policy into force as one generation, attaches the programs and ages the tables.
//
// A Plane owns the data plane and the states of functions. Prepare and what it returns are for one configuration at a time;
// all else may be called concurrently.
package plane
