// Package explain tells what would become of a flow, and why: it runs the flow's first packet through the data plane, dry
// (datapath.Dry), reads the steps that it took, and puts what the configuration calls them into words. What the packet
// meets is not asked here: there is no second data plane.
//
// An Explainer is for one goroutine, and for one generation of the policy.
package explain
