package config

import (
	"errors"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// Version is that of the configuration's keys and their meaning which this build reads.
const Version = 1

// version is the key that says it; a file without it has the first.
type version struct{ number int }

func (v *version) Keys() []schema.Key {
	v.number = Version
	return []schema.Key{schema.One("version", &v.number, versionKind())}
}

func (*version) Finish(*schema.Faults) {}

func versionKind() schema.Kind[int] {
	k := schema.Number(Version, Version)
	k.Allowed = strconv.Itoa(Version)
	k.Want = k.Allowed + ", the version that this build reads"
	parse := k.Parse
	k.Parse = func(text string) (int, error) {
		n, err := parse(text)
		if other, numeric := strconv.Atoi(text); err != nil && numeric == nil && other > Version {
			err = errors.New("a later build reads it")
		}
		return n, err
	}
	return k
}

// hasVersion reports whether a file is of the version that this build reads. What else is in another is not worth a word.
func hasVersion(faults *schema.Faults, root *yaml.Node) bool {
	said := schema.ValueOf(root, "version")
	if said == nil {
		return true
	}
	_, ok := schema.ReadValue(faults, said, "version", versionKind())
	return ok
}
