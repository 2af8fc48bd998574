package config

import "github.com/realmgate/realmgate/internal/schema"

// takenNames are the names that entries of a list have, with the lines that they are given at.
type takenNames map[string]int

// take notes the name of an entry, and says where another has it. What has no name, of
// which line is 0, has been told so.
func (n takenNames) take(faults *schema.Faults, path, name string, line int) {
	if first, twice := n[name]; twice && line > 0 {
		faults.Add(line, "%s.name: %s is already used at line %d", path, name, first)
	}
	n[name] = line
}
