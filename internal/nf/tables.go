package nf

import (
	"fmt"
	"slices"
)

// MostRules is how many rules a classifier or a filter may have.
const MostRules = 1 << 16

// compile makes the tables of rules of which the first that matches counts.
func compile(rules []Rule) (cells, error) {
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
			Source: sources.number(address(r.Source, r.SourceSet)), Destination: destinations.number(address(r.Destination, r.DestinationSet)),
			Service: services.number(service(r)),
		}
	}
	for what, d := range map[string]*dimension{"source": sources, "destination": destinations, "service": services} {
		if err := d.spread(what); err != nil {
			return nil, err
		}
	}
	known := make(map[classifierRulesKey]bool, len(rules))
	var first []classifierRulesRule // of each key
	var list []classifierRulesShape
	for i, key := range keys {
		if known[key] {
			continue
		}
		known[key] = true
		s := classifierRulesShape{
			Source: sources.layerOf(key.Source), Destination: destinations.layerOf(key.Destination), Service: services.layerOf(key.Service),
			First: uint32(i),
		}
		shape := slices.IndexFunc(list, func(have classifierRulesShape) bool {
			return have.Source == s.Source && have.Destination == s.Destination && have.Service == s.Service
		})
		if shape < 0 {
			shape = len(list)
			list = append(list, s)
		}
		if shape == shapes {
			return nil, fmt.Errorf("the rules combine conditions in more than %d ways: rule %d is the first too many", shapes, i+1)
		}
		sources.stands(key.Source, shape)
		destinations.stands(key.Destination, shape)
		services.stands(key.Service, shape)
		first = append(first, classifierRulesRule{Key: key, Found: classifierRulesFound{Rule: uint32(i), Value: rules[i].Value}})
	}
	return fill(list, first, sources, destinations, services)
}

// fill makes the cells of rules of these shapes.
func fill(shapes []classifierRulesShape, rules []classifierRulesRule, sources, destinations, services *dimension) (cells, error) {
	head := classifierRulesHead{Shapes: uint32(len(shapes)), None: classifierRulesFound{Rule: none}}
	list := make(cells, 1) // for the head
	for some := range slices.Chunk(shapes, len(classifierRulesShapeCell{}.Shape)) {
		var c classifierRulesShapeCell
		copy(c.Shape[:], some)
		list = append(list, cellOf(c))
	}
	made, err := sources.cut("source")
	if err != nil {
		return nil, err
	}
	head.Source = list.addRanges(made.ranges)
	head.Destination = head.Source
	list.addClasses(sources, made.classes, &head.Source)
	// Conditions on the remote end are on both, and so are their ranges the same.
	if !slices.Equal(sources.list, destinations.list) {
		if made, err = destinations.cut("destination"); err != nil {
			return nil, err
		}
		head.Destination = list.addRanges(made.ranges)
	}
	list.addClasses(destinations, made.classes, &head.Destination)
	if made, err = services.cut("service"); err != nil {
		return nil, err
	}
	head.Service = list.addRanges(made.ranges)
	list.addClasses(services, made.classes, &head.Service)
	list.addRules(rules, &head)
	list[0] = cellOf(head)
	return list, nil
}
