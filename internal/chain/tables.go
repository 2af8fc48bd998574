package chain

import (
	"fmt"
	"slices"
)

// MostRules is how many rules a classifier or a filter may have.
const MostRules = 1 << 16

// tables are rules in the form in which programs look them up (bpf/include/rules.h).
type tables struct {
	size                            classifierRulesSize
	shapes                          []classifierRulesShape
	sources, destinations, services []classifierRulesRange
	rules                           map[classifierRulesKey]classifierRulesFound
}

// compile makes the tables of rules of which the first that matches counts.
func compile(rules []Rule) (*tables, error) {
	if len(rules) > MostRules {
		return nil, fmt.Errorf("%d rules: at most %d", len(rules), MostRules)
	}
	sources, destinations, services := newDimension(0), newDimension(0), newDimension(serviceLanes()...)
	keys := make([]classifierRulesKey, len(rules))
	for i, r := range rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		keys[i] = classifierRulesKey{
			Source: sources.number(prefix(r.Source)), Destination: destinations.number(prefix(r.Destination)),
			Service: services.number(service(r)),
		}
	}
	for what, d := range map[string]*dimension{"source": sources, "destination": destinations, "service": services} {
		if err := d.spread(what); err != nil {
			return nil, err
		}
	}
	t := &tables{rules: make(map[classifierRulesKey]classifierRulesFound, len(rules))}
	for i, key := range keys {
		if _, earlier := t.rules[key]; earlier {
			continue
		}
		shape := t.shape(classifierRulesShape{
			Source: sources.layerOf(key.Source), Destination: destinations.layerOf(key.Destination), Service: services.layerOf(key.Service),
		}, i)
		if shape == shapes {
			return nil, fmt.Errorf("the rules combine conditions in more than %d ways: rule %d is the first too many", shapes, i+1)
		}
		sources.stands(key.Source, shape)
		destinations.stands(key.Destination, shape)
		services.stands(key.Service, shape)
		t.rules[key] = classifierRulesFound{Rule: uint32(i), Value: rules[i].Value}
	}
	t.sources, t.destinations, t.services = sources.ranges(), destinations.ranges(), services.ranges()
	t.size = classifierRulesSize{
		Sources: uint32(len(t.sources)), Destinations: uint32(len(t.destinations)), Services: uint32(len(t.services)),
		Shapes: uint32(len(t.shapes)),
	}
	return t, nil
}

// shape returns the place of a shape, which rule first is of.
func (t *tables) shape(s classifierRulesShape, first int) int {
	place := slices.IndexFunc(t.shapes, func(known classifierRulesShape) bool {
		return known.Source == s.Source && known.Destination == s.Destination && known.Service == s.Service
	})
	if place < 0 {
		s.First = uint32(first)
		t.shapes = append(t.shapes, s)
		place = len(t.shapes) - 1
	}
	return place
}
