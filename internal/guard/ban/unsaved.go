package ban

import "net/netip"

// Unsaved are the prefixes whose entries on the disk are not what they should be, as the
// disk has not taken a change yet. They are never more than there are entries in force and
// on the disk. The zero value has none.
type Unsaved struct {
	older map[netip.Prefix]bool // whether the disk has an older entry
}

// Put notes an entry that is made or changed; known says whether there was one before.
func (u *Unsaved) Put(p netip.Prefix, known bool) {
	if _, noted := u.older[p]; noted {
		return
	}
	if u.older == nil {
		u.older = map[netip.Prefix]bool{}
	}
	u.older[p] = known
}

// Remove notes entries that are no more. One that the disk never had is done with.
func (u *Unsaved) Remove(prefixes []netip.Prefix) {
	for _, p := range prefixes {
		if u.Only(p) {
			delete(u.older, p)
		} else {
			u.Put(p, true)
		}
	}
}

// Only reports whether an entry is in force that the disk has nothing of.
func (u *Unsaved) Only(p netip.Prefix) bool {
	older, noted := u.older[p]
	return noted && !older
}

// Saved notes that the disk has what is in force of the prefixes.
func (u *Unsaved) Saved(prefixes []netip.Prefix) {
	for _, p := range prefixes {
		delete(u.older, p)
	}
}

// Count is how many they are.
func (u *Unsaved) Count() int { return len(u.older) }

// Some are at most so many of them.
func (u *Unsaved) Some(most int) []netip.Prefix {
	list := make([]netip.Prefix, 0, min(most, len(u.older)))
	for p := range u.older {
		if len(list) == most {
			break
		}
		list = append(list, p)
	}
	return list
}
