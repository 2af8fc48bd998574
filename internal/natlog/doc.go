// Package natlog keeps a log that answers who had an address and a port at a time: a line for each mapping that begins and ends,
// for each pool address that is lent and given back, and for what was refused. It goes to files, from which Trace answers, and
// to collectors.
//
// # Nobody waits for a sink
//
// What happens is put into a bounded queue of each sink. What finds it full is lost for that sink and counted, and the sink
// says so in the place of what it lost. What the data plane had no room to tell is said to all sinks.
//
// # Layers
//
// Record and its forms (line, syslog, ipfix), block and the search are pure. A sink joins a queue and an outlet, which does the
// input and output: a folder of files, or a connection. Service hears the data plane and tells the sinks.
//
// # Concurrency
//
// The methods of a Service may be called concurrently. Its lock is held for no input or output.
package natlog
