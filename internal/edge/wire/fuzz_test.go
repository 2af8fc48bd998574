package wire

import (
	"bytes"
	"reflect"
	"testing"
)

// Whatever a peer sends: no panic, and what is taken keeps its bounds, for it can be written, and is read again the same.
func FuzzMessage(f *testing.F) {
	for _, m := range messages {
		frame, err := Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame[4:])
	}
	f.Add([]byte(`{"type":"more","id":1,"require":{"quantum":[{"a":1}]}}`))
	f.Add([]byte(`{"type":"open","Type":"close"}`))
	f.Fuzz(func(t *testing.T, octets []byte) {
		m, err := Decode(octets)
		if err != nil || m == nil {
			return
		}
		frame, err := Append(nil, m)
		if err != nil {
			t.Fatalf("%s was taken as %#v, which cannot be written: %v", octets, m, err)
		}
		again, err := Decode(frame[4:])
		if err != nil || !reflect.DeepEqual(again, forget(m)) {
			t.Fatalf("%s was taken as %#v, written %s, and is %#v, %v", octets, m, frame[4:], again, err)
		}
	})
}

// forget leaves out what is not written: keys that nobody knew, and whether an empty list was there.
func forget(m Message) Message {
	plain := func(t Terms) Terms {
		t.Unknown = nil
		if len(t.Services) == 0 {
			t.Services = nil
		}
		return t
	}
	switch m := m.(type) {
	case Hello:
		if len(m.Zones) == 0 {
			m.Zones = nil
		}
		if len(m.Locators) == 0 {
			m.Locators = nil
		}
		return m
	case Open:
		m.Offer, m.Require = plain(m.Offer), plain(m.Require)
		return m
	case Accept:
		m.Terms = plain(m.Terms)
		return m
	case More:
		m.Require = plain(m.Require)
		return m
	case Renewed:
		m.Pacts, m.Gone = some(m.Pacts), some(m.Gone)
		return m
	case Resume:
		m.Pacts = some(m.Pacts)
		return m
	case Resumed:
		m.Gone = some(m.Gone)
		return m
	}
	return m
}

func some[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// Whatever comes to the port: no panic, and what is taken as a tunnel packet is one that an edge could have written.
func FuzzHeader(f *testing.F) {
	for _, v := range vectors {
		f.Add(Encapsulate(v.header, v.inner))
	}
	f.Add(append(make([]byte, 28), AppendProbe(nil, vectors[0].header, 5, 100)...))
	f.Fuzz(func(t *testing.T, packet []byte) {
		h, inner, err := Decapsulate(packet)
		if err != nil {
			if inner != nil || h != (Header{}) {
				t.Fatalf("%x: %v, and %+v, %x", packet, err, h, inner)
			}
			return
		}
		written := Encapsulate(h, inner)
		again, same, err := Decapsulate(written)
		if again.Authenticator = h.Authenticator; err != nil || again != h || !bytes.Equal(same, inner) {
			t.Fatalf("%x was taken as %+v, written %x, and is %+v, %v", packet, h, written, again, err)
		}
		if h.VNI > MostVNI || h.Epoch > MostEpoch || len(inner) < 20 {
			t.Fatalf("%x: %+v, %d octets inside", packet, h, len(inner))
		}
	})
}
