// Package edge joins this gateway to others, so that hosts behind them are reached by name: it asks another edge whether a
// host may, gives the host an address that stands for the name, and puts what was agreed into the data plane. Messages,
// terms, numbers and connections are packages below it.
//
// One lock guards all state. It is held while the data plane is written, and never while another edge is waited for.
package edge
