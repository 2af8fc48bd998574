package wire

// keptOctets is what one pact of Resume takes beside its names.
const keptOctets = 96

// Resumes says what is kept in as many messages as it takes, at least one: names may be long, and a frame is bounded. All
// but the last say that more follows.
func Resumes(kept []Kept) (list []Resume) {
	const room = Most - 1024
	for {
		n, octets := 0, 0
		for ; n < len(kept) && n < MostPairs; n++ {
			if octets += keptOctets + len(kept[n].From) + len(kept[n].To); octets > room {
				break
			}
		}
		list = append(list, Resume{Pacts: kept[:n], More: n < len(kept)})
		if kept = kept[n:]; len(kept) == 0 {
			return list
		}
	}
}
