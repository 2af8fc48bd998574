package nf

import (
	"fmt"
	"slices"
)

// MostRules is how many rules a classifier or a filter may have.
const MostRules = 1 << 16

// compile makes the tables of rules of which the first that matches counts.
func compile(rules []Rule) (nodes, error) {
	if len(rules) > MostRules {
		return nil, fmt.Errorf("%d rules: at most %d", len(rules), MostRules)
	}
	d := dimensions{newDimension(0), newDimension(0), newDimension(serviceLanes()...), newDimension(sourcePortsFrom)}
	keys := make([]ruleKey, len(rules))
	for i, r := range rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		keys[i] = ruleKey{
			source: d.sources.number(address(r.Source, r.SourceSet)), destination: d.destinations.number(address(r.Destination, r.DestinationSet)),
			service: d.services.number(service(r)), sourcePort: d.sourcePorts.number(sourcePort(r)),
		}
	}
	if len(d.sourcePorts.list) > mostSourcePorts {
		return nil, fmt.Errorf("more than %d different source ports or ranges of them", mostSourcePorts)
	}
	if err := d.spread(); err != nil {
		return nil, err
	}
	known := make(map[ruleKey]bool, len(rules))
	var first []classifierRulesRule // of each key
	var list []classifierRulesMask
	for i, key := range keys {
		if known[key] {
			continue
		}
		known[key] = true
		s := classifierRulesMask{
			Source: d.sources.levelOf(key.source), Destination: d.destinations.levelOf(key.destination), Service: d.services.levelOf(key.service),
			SourcePort: d.sourcePorts.levelOf(key.sourcePort), First: uint32(i),
		}
		mask := slices.IndexFunc(list, func(have classifierRulesMask) bool {
			have.First = s.First
			return have == s
		})
		if mask < 0 {
			mask = len(list)
			list = append(list, s)
		}
		if mask == masks {
			return nil, fmt.Errorf("the rules combine conditions in more than %d ways: rule %d is the first too many", masks, i+1)
		}
		d.sources.note(key.source, mask)
		d.destinations.note(key.destination, mask)
		d.services.note(key.service, mask)
		d.sourcePorts.note(key.sourcePort, mask)
		first = append(first, classifierRulesRule{Key: key.node(), Found: classifierRulesFound{Rule: uint32(i), Value: rules[i].Value}})
	}
	return d.fill(list, first)
}

// dimensions are those that rules have conditions in.
type dimensions struct{ sources, destinations, services, sourcePorts *dimension }

// ruleKey are the numbers of a rule's conditions.
type ruleKey struct{ source, destination, service, sourcePort uint32 }

// node is the key as a node has it: source ports lie above services.
func (k ruleKey) node() classifierRulesKey {
	return classifierRulesKey{Source: k.source, Destination: k.destination, Service: k.service | k.sourcePort<<serviceBits}
}

const (
	serviceBits     = int(classifierRulesLimitRULES_SERVICES)
	mostSourcePorts = 1<<(32-serviceBits) - 1
)

func (d *dimensions) spread() error {
	for what, of := range map[string]*dimension{"source": d.sources, "destination": d.destinations, "service": d.services, "source port": d.sourcePorts} {
		if err := of.spread(what); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the nodes of rules of these masks.
func (d *dimensions) fill(masks []classifierRulesMask, rules []classifierRulesRule) (nodes, error) {
	head := classifierRulesHead{Masks: uint32(len(masks)), None: classifierRulesFound{Rule: none}}
	list := make(nodes, 1) // for the head
	for some := range slices.Chunk(masks, len(classifierRulesMaskNode{}.Mask)) {
		var c classifierRulesMaskNode
		copy(c.Mask[:], some)
		list = append(list, nodeOf(c))
	}
	made, err := d.sources.cut("source")
	if err != nil {
		return nil, err
	}
	head.Source = list.addRanges(made.ranges)
	head.Destination = head.Source
	list.addClasses(d.sources, made.classes, &head.Source)
	// Conditions on the remote end are on both, and so are their ranges the same.
	if !slices.Equal(d.sources.list, d.destinations.list) {
		if made, err = d.destinations.cut("destination"); err != nil {
			return nil, err
		}
		head.Destination = list.addRanges(made.ranges)
	}
	list.addClasses(d.destinations, made.classes, &head.Destination)
	if head.Service, err = list.addDimension(d.services, "service"); err != nil {
		return nil, err
	}
	if len(d.sourcePorts.list) > 0 {
		of, err := list.addDimension(d.sourcePorts, "source port")
		if err != nil {
			return nil, err
		}
		head.SourcePort = uint32(len(list))
		list = append(list, nodeOf(classifierRulesDimensionNode{Dimension: of}))
	}
	list.addRules(rules, &head)
	list[0] = nodeOf(head)
	return list, nil
}

// asksSourcePorts reports whether a rule does.
func (list nodes) asksSourcePorts() bool { return headOf(list[0]).SourcePort > 0 }
