// Package rest keeps ports of the web that are the web's no more from others: until web.ttl is over, clients may come there whose
// resolvers remember what the names were answered with. They would reach whoever has the port then.
//
// Ports never change once they are made. What a store has of them outlives a restart.
package rest
