package stream

import "github.com/realmgate/realmgate/internal/api"

// A ring keeps so many messages of a topic, and so many octets of what they say.
const (
	mostMessages = 1024
	mostOctets   = 1 << 20
)

// ring is the last messages of a topic, in the order of their numbers. Of each topic there is one: a flood of drops leaves what was
// told of bans where it is.
type ring struct {
	messages []api.Message // the oldest first
	octets   int
	first    uint64 // how many were there before the oldest
	gone     uint64 // number of the last of those, or of when something was not heard
}

func (r *ring) add(m api.Message) {
	r.messages = append(r.messages, m) // which moves them all when the room behind them is used up
	r.octets += len(m.Data)
	for len(r.messages) > mostMessages || r.octets > mostOctets {
		r.octets -= len(r.messages[0].Data)
		r.gone = r.messages[0].Number
		r.messages[0] = api.Message{} // its data
		r.messages = r.messages[1:]
		r.first++
	}
}

// end is the place behind the newest.
func (r *ring) end() uint64 { return r.first + uint64(len(r.messages)) }

// behind is the place of the first message with a number above one; it is false when some of those have gone.
func (r *ring) behind(number uint64) (place uint64, whole bool) {
	place = r.first
	for _, m := range r.messages {
		if m.Number <= number {
			place++
		}
	}
	return place, r.gone <= number
}
