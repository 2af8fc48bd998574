package tenants

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// readNftables reads all chains of IPv4 that nftables has, also those of iptables-nft.
func readNftables() ([]*chain, error) {
	conn, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("ask nftables: %w", err)
	}
	found, err := conn.ListChains()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil // this kernel has no nftables
	}
	if err != nil {
		return nil, fmt.Errorf("list the chains of nftables: %w", err)
	}
	var list []*chain
	tables := map[string]map[string]*chain{}
	for _, f := range found {
		family := map[nftables.TableFamily]string{nftables.TableFamilyIPv4: "ip", nftables.TableFamilyINet: "inet"}[f.Table.Family]
		if family == "" {
			continue
		}
		key := family + " " + f.Table.Name
		if tables[key] == nil {
			tables[key] = map[string]*chain{}
		}
		c := &chain{family: family, table: f.Table.Name, name: f.Name, others: tables[key]}
		c.hook, c.drops = hookOf(f), f.Policy != nil && *f.Policy == nftables.ChainPolicyDrop
		rules, err := conn.GetRules(f.Table, f)
		if err != nil { // gone meanwhile
			continue
		}
		for _, r := range rules {
			c.rules = append(c.rules, readRule(conn, f.Table, r.Exprs))
		}
		c.others[c.name] = c
		list = append(list, c)
	}
	return list, nil
}

func hookOf(c *nftables.Chain) hook {
	switch {
	case c.Hooknum == nil:
		return noHook
	case *c.Hooknum == *nftables.ChainHookForward && c.Type == nftables.ChainTypeFilter:
		return forward
	case *c.Hooknum == *nftables.ChainHookPostrouting && c.Type == nftables.ChainTypeNAT:
		return postrouting
	}
	return noHook
}

// field is what an expression has put into a register.
type field uint8

const (
	unknown field = iota
	inName
	outName
	inIndex
	outIndex
	source
	protocol // of the network layer: IPv4
)

// loaded is the field in a register, and the mask that was laid over it.
type loaded struct {
	field field
	mask  []byte
}

func readRule(conn *nftables.Conn, table *nftables.Table, exprs []expr.Any) (r rule) {
	registers := map[uint32]loaded{}
	hold := func(c condition) { r.conditions = append(r.conditions, c) }
	for _, e := range exprs {
		switch e := e.(type) {
		case *expr.Meta:
			registers[e.Register] = loaded{field: map[expr.MetaKey]field{
				expr.MetaKeyIIFNAME: inName, expr.MetaKeyOIFNAME: outName, expr.MetaKeyIIF: inIndex, expr.MetaKeyOIF: outIndex, expr.MetaKeyNFPROTO: protocol,
			}[e.Key]}
		case *expr.Payload:
			at := unknown
			if e.Base == expr.PayloadBaseNetworkHeader && e.Offset == 12 && e.Len <= 4 {
				at = source
			}
			registers[e.DestRegister] = loaded{field: at}
		case *expr.Bitwise:
			registers[e.DestRegister] = loaded{registers[e.SourceRegister].field, e.Mask}
		case *expr.Cmp:
			hold(compare(registers[e.Register], e))
		case *expr.Lookup:
			hold(inSet(conn, table, registers[e.SourceRegister], e))
		case *expr.Counter, *expr.Log:
		case *expr.Verdict:
			r.action, r.target = actionOf(e)
		case *expr.Masq:
			r.action = translate
		case *expr.NAT:
			if r.action = translate; e.Type != expr.NATTypeSourceNAT {
				r.action = goOn
			}
		case *expr.Reject:
			r.action = drop
		case *expr.Target: // of iptables-nft
			r.action = map[string]action{"MASQUERADE": translate, "SNAT": translate, "REJECT": drop}[e.Name]
		default:
			hold(perhaps)
		}
	}
	return r
}

func actionOf(v *expr.Verdict) (action, string) {
	switch v.Kind {
	case expr.VerdictAccept:
		return accept, ""
	case expr.VerdictDrop:
		return drop, ""
	case expr.VerdictJump, expr.VerdictGoto:
		return jump, v.Chain
	case expr.VerdictReturn:
		return leave, ""
	}
	return goOn, ""
}

func compare(l loaded, e *expr.Cmp) condition {
	if l.field == unknown || e.Op != expr.CmpOpEq && e.Op != expr.CmpOpNeq {
		return perhaps
	}
	return func(f flow) answer {
		value, known := f.value(l.field)
		if !known {
			return maybe
		}
		data := e.Data
		switch l.field {
		case inName, outName: // a NUL ends a whole name
			if end := bytes.IndexByte(data, 0); end >= 0 {
				data = data[:end+1]
			}
			value = value[:min(len(value), len(data))]
		case source:
			value = masked(value, l.mask)[:min(4, len(data))]
		}
		return is(bytes.Equal(value, data) == (e.Op == expr.CmpOpEq))
	}
}

func masked(value, mask []byte) []byte {
	out := bytes.Clone(value)
	for i := range min(len(out), len(mask)) {
		out[i] &= mask[i]
	}
	return out
}

// value is a field of the flow as the kernel has it in a register.
func (f flow) value(of field) ([]byte, bool) {
	index := func(name string) ([]byte, bool) {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return nil, false
		}
		return binary.NativeEndian.AppendUint32(nil, uint32(i.Index)), true
	}
	switch of {
	case inName:
		return append([]byte(f.in), 0), true
	case outName:
		return append([]byte(f.out), 0), true
	case inIndex:
		return index(f.in)
	case outIndex:
		return index(f.out)
	case source:
		return f.source.AsSlice(), f.source.IsValid()
	case protocol:
		return []byte{unix.NFPROTO_IPV4}, true
	}
	return nil, false
}

// inSet is whether a field is in a set of values or of intervals; of sets of another make nobody knows.
func inSet(conn *nftables.Conn, table *nftables.Table, l loaded, e *expr.Lookup) condition {
	if l.field == unknown || l.mask != nil || e.IsDestRegSet {
		return perhaps
	}
	set, err := conn.GetSetByName(table, e.SetName)
	if err != nil || set.Concatenation {
		return perhaps
	}
	elements, err := conn.GetSetElements(set)
	if err != nil {
		return perhaps
	}
	return func(f flow) answer {
		value, known := f.value(l.field)
		if !known {
			return maybe
		}
		return is(holds(set.Interval, elements, value) != e.Invert)
	}
}

func holds(interval bool, elements []nftables.SetElement, value []byte) bool {
	best, inside := []byte(nil), false
	for _, e := range elements {
		key := e.Key
		if !interval {
			if strings.TrimRight(string(key), "\x00") == strings.TrimRight(string(value), "\x00") {
				return true
			}
			continue
		}
		// Each bound says what is from it on: the nearest below decides.
		if at := bytes.Compare(key, value); at <= 0 && (best == nil || bytes.Compare(key, best) > 0 || bytes.Equal(key, best) && !e.IntervalEnd) {
			best, inside = key, !e.IntervalEnd
		}
	}
	return inside
}

func addressOf(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	return netip.PrefixFrom(a, 32), err == nil
}
