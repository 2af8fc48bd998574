package settings

import (
	"reflect"
	"slices"
)

// Differences says what makes one list of functions another.
func Differences(was, is []Function) []string {
	said := []string{}
	find := func(list []Function, name string) int {
		return slices.IndexFunc(list, func(f Function) bool { return f.Name == name })
	}
	for _, f := range was {
		if find(is, f.Name) < 0 {
			said = append(said, "removed "+f.Name)
		}
	}
	var before, now []string // those of which only the order can differ
	for _, f := range is {
		i := find(was, f.Name)
		if i < 0 {
			said = append(said, "inserted "+f.Name)
			continue
		}
		switch old := was[i]; {
		case reflect.DeepEqual(old, f):
			now = append(now, f.Name)
		case reflect.DeepEqual(placedAs(old, f), f):
			said = append(said, "moved "+f.Name)
		default:
			said = append(said, "changed "+f.Name)
		}
	}
	for _, f := range was {
		if slices.Contains(now, f.Name) {
			before = append(before, f.Name)
		}
	}
	for _, name := range moved(before, now) {
		said = append(said, "moved "+name)
	}
	return said
}

func placedAs(f, other Function) Function {
	f.Priority, f.Before, f.After = other.Priority, other.Before, other.After
	return f
}

// moved names those of a list that stand elsewhere in another order of it: where the two
// part, the one that is further from its place.
func moved(was, is []string) (names []string) {
	without := func(list []string, name string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == name })
	}
	for i := 0; i < len(was); {
		if was[i] == is[i] {
			i++
			continue
		}
		name := was[i]
		if slices.Index(was, is[i]) > slices.Index(is, was[i]) {
			name = is[i]
		}
		names = append(names, name)
		was, is = without(was, name), without(is, name)
	}
	return names
}
