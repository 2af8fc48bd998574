package datapath

import "github.com/cilium/ebpf"

// segmentSides are where what was not yet single packets goes on to another edge: TCX alone, where there are edges.
type segmentSides struct {
	Segment *ebpf.Program `ebpf:"gateway_edge_segment"`
}

// ofEdges is the pair by which the kernel makes single packets of an aggregate, and fills in the checksums that were left to an
// interface (bpf/tunnel/segment.h): the authenticator in front is of one packet. XDP has neither.
var ofEdges = carrierKind{
	prefix: "rgedge", purpose: "edges", place: bpfCarrierCARRIER_EDGE, whole: true,
	lost: "at tcx, aggregates and packets whose checksum is left to an interface do not reach other edges",
}

// followEdgeCarrier has that pair, where an interface takes socket buffers.
func (d *carrierSet) followEdgeCarrier() {
	if !d.edges.Load() {
		return
	}
	f := d.forms[TCX]
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.entries == nil {
		return
	}
	d.edgeCarrier.carrierKind, d.edgeCarrier.program = ofEdges, f.entries.Segment
	d.followCarrier(&d.edgeCarrier)
}
