package chain

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"
)

// Probe is the first packet of a flow, which nobody sent.
type Probe struct {
	Flow
	SourcePort uint16
	PublicPort uint16 // that it comes to: of a name's service Port may be another
	Length     int    // of the IP packet
	TCPFlags   uint8
	Frame      []byte
	Mapped     bool // a host inside has opened the port that it comes to
	Ignored    bool // as if its port was
}

// Says is what a function says of a packet.
type Says uint8

// The words of bpf/include/nf.h, and two ways in which a function may fail.
const (
	Continues   Says = iota
	Accepts          // it decides
	Drops            // it decides
	Jumps            // on in another chain
	FailsOpen        // the next function is asked
	FailsClosed      // it cannot say, and the packet is dropped
)

// Opinion is what a function was heard to say.
type Opinion struct {
	Chain, Step int // places; a chain of -1 is the protection
	Says        Says
	To          int // the chain that it jumps to
}

// Judgement is what chains say of a packet, function by function in the order in which
// they were asked.
type Judgement struct {
	Chain    int // the first that matches, -1 for none
	Opinions []Opinion
	Passes   bool
}

// Judge asks the chains about the first packet of a flow, but not the static ones.
func (t *Trial) Judge(p Probe) (Judgement, error) {
	j, _, err := t.judge(t.made.XDP.Classifier, false, p)
	return j, err
}

// JudgeStatic asks the static chains about the first packet of a flow as it comes. to is
// the private endpoint that they send it to, invalid where they say none.
func (t *Trial) JudgeStatic(p Probe) (j Judgement, to netip.AddrPort, err error) {
	if t.made.XDP.Static == nil {
		return Judgement{Chain: -1, Passes: true}, to, nil
	}
	j, after, err := t.judge(t.made.XDP.Static, true, p)
	if err != nil || !j.Passes || after.ToAddress == 0 {
		return j, to, err
	}
	var address [4]byte
	binary.NativeEndian.PutUint32(address[:], after.ToAddress)
	port := p.Port
	if after.ToPort != 0 {
		port = bits.ReverseBytes16(after.ToPort)
	}
	return j, netip.AddrPortFrom(netip.AddrFrom4(address), port), nil
}

// JudgeStray asks the protection alone about a packet that no chain is for.
func (t *Trial) JudgeStray(p Probe) (Judgement, error) {
	if t.made.Stray == 0 {
		return Judgement{Chain: -1, Passes: true}, nil
	}
	j, _, err := t.judge(t.made.XDP.Chains[t.made.Stray-1], false, p)
	j.Chain = -1
	return j, err
}

// judge asks the chains of a classifier, and returns what they left as well.
func (t *Trial) judge(classifier *ebpf.Program, static bool, p Probe) (j Judgement, after classifierNfPacket, err error) {
	if _, err := t.counted(); err != nil {
		return j, after, err
	}
	if after, err = t.run(classifier, p.Frame, p.describe()); err != nil {
		return j, after, err
	}
	counts, err := t.counted()
	if err != nil {
		return j, after, err
	}
	j.Chain = t.entered(counts, p.Flow, static, t.decided(after))
	j.Passes = classifierNfVerdict(after.Verdict) == classifierNfVerdictNF_ACCEPT
	t.hear(-1, t.policy.Protection, counts, after, &j)
	for c := j.Chain; c >= 0; {
		c = t.hear(c, t.policy.Chains[c].Steps, counts, after, &j)
	}
	return j, after, nil
}

// hear notes what the functions of a chain said, and returns the chain that one of them
// jumped to, -1 for none.
func (t *Trial) hear(place int, steps []Step, counts []classifierNfCount, after classifierNfPacket, j *Judgement) int {
	for i, step := range steps {
		if counts[step.Number].Seen == 0 {
			return -1
		}
		o := Opinion{Chain: place, Step: i, To: -1}
		to := t.jumped(steps, i, counts)
		switch failed := counts[step.Number].Failed > 0; {
		case after.Function == step.Number && failed:
			o.Says = FailsClosed
		case after.Function == step.Number && !j.Passes:
			o.Says = Drops
		case after.Function == step.Number:
			o.Says = Accepts
		case failed:
			o.Says = FailsOpen
		case to >= 0:
			o.Says, o.To = Jumps, to
		}
		j.Opinions = append(j.Opinions, o)
		if o.Says == Jumps {
			return o.To
		}
	}
	return -1
}

// jumped is the chain that a function which did not decide went on in, -1 for none: its
// own chain's next one was not asked.
func (t *Trial) jumped(steps []Step, i int, counts []classifierNfCount) int {
	last := i+1 == len(steps)
	if !last && counts[steps[i+1].Number].Seen > 0 {
		return -1
	}
	empty := -1
	for _, c := range steps[i].Jumps {
		if t.asked(c, counts) {
			return c
		}
		if !last && len(t.policy.Chains[c].Steps) == 0 {
			empty = c
		}
	}
	return empty
}

// decided reports whether a function of the protection did.
func (t *Trial) decided(after classifierNfPacket) bool {
	return slices.ContainsFunc(t.policy.Protection, func(s Step) bool { return s.Number == after.Function })
}

// asked reports whether a chain's first function was.
func (t *Trial) asked(place int, counts []classifierNfCount) bool {
	steps := t.policy.Chains[place].Steps
	return len(steps) > 0 && counts[steps[0].Number].Seen > 0
}

// entered is the chain that the classifier found, -1 for none: of those that were asked
// the one that none of them can jump to. One without functions leaves no trace, nor does
// one that the protection kept from being asked.
func (t *Trial) entered(counts []classifierNfCount, f Flow, static, protected bool) int {
	jumpedTo := map[int]bool{}
	for i, c := range t.policy.Chains {
		if !t.asked(i, counts) {
			continue
		}
		for _, step := range c.Steps {
			for _, other := range step.Jumps {
				jumpedTo[other] = true
			}
		}
	}
	for i := range t.policy.Chains {
		if t.asked(i, counts) && !jumpedTo[i] {
			return i
		}
	}
	return slices.IndexFunc(t.policy.Chains, func(c Chain) bool {
		return (len(c.Steps) == 0 || protected) && c.Static == static && slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Matches(f) })
	})
}

func (p Probe) describe() classifierNfPacket {
	address := func(a netip.Addr) uint32 {
		b := a.As4()
		return binary.NativeEndian.Uint32(b[:])
	}
	trap := classifierNfTrapNF_TRAP_NONE
	if p.Mapped {
		trap = classifierNfTrapNF_TRAP_NEVER
	}
	ports := uint8(0)
	if p.Ignored {
		ports = uint8(protectionPortMarkPORT_IGNORED)
	}
	return classifierNfPacket{
		Source: address(p.Source), Destination: address(p.Destination),
		SourcePort: bits.ReverseBytes16(p.SourcePort), DestinationPort: bits.ReverseBytes16(p.Port), PublicPort: bits.ReverseBytes16(p.PublicPort),
		Protocol: uint8(p.Protocol), Direction: uint8(p.Direction), Opens: 1, TcpFlags: p.TCPFlags, Dry: 1, Length: uint16(p.Length), Segments: 1, Trap: uint8(trap), Ports: ports,
	}
}
