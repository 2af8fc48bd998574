// Package demo tells the stories of `realmgate demo`, `demo chain`, `demo edges`
// and `demo protect`: it lays realms in network namespaces, runs gateways there,
// and shows what people inside and outside see. It prints a line when it has observed
// what the line says; the first thing that is not as it should be ends the story
// with an error.
//
// The gateway, the web servers and the public resolver are processes of the
// realmgate program itself, inside the namespaces: the machine needs no other
// program, the gateway can be killed with SIGKILL, and with Keep all of them
// outlive the demo. The people who ask and fetch are this process, and so are the
// web servers of `demo edges`.
//
// A demo owns a lab, /run/realmgate/demo-RANDOM with configuration and log, and
// what the gateways of the instances demo-RANDOM and demo-RANDOM-b pin. All of it goes at the end,
// also after a failure or an interrupt; a demo that was killed is swept up by the
// next. Run is one goroutine with a reader for each open connection.
package demo
