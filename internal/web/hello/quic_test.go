package hello

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The keys of RFC 9001 A.1 and RFC 9369 A.1.
func TestInitialKeys(t *testing.T) {
	t.Parallel()
	id, _ := hex.DecodeString("8394c8f03e515708")
	for number, want := range map[uint32][3]string{
		1:          {"1f369613dd76d5467730efcbe3b1a22d", "fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2"},
		0x6b3343cf: {"8b1a0bc121284290a29e0971b5cd045d", "91f73e2351d8fa91660e909f", "45b95e15235d6f45a6b19cbcb0294ba9"},
	} {
		v := versions[number]
		secret, err := v.secret(id, "client in")
		if err != nil {
			t.Fatal(err)
		}
		for i, label := range []string{"key", "iv", "hp"} {
			if got, err := expandLabel(secret, v.label+label, len(want[i])/2); hex.EncodeToString(got) != want[i] || err != nil {
				t.Errorf("version %x, %s: %x, %v; want %s", number, label, got, err, want[i])
			}
		}
	}
}

// The packets of RFC 9001 A.2 and RFC 9369 A.2, and those of browsers, which have
// their hello in frames out of order, in two datagrams.
func TestInitialsOfClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		datagrams []string
		want      string
	}{
		{[]string{"rfc9001-0.quic"}, "example.com"},
		{[]string{"rfc9369-0.quic"}, "example.com"},
		{[]string{"chromium-0.quic", "chromium-1.quic"}, site},
		{[]string{"chromium-1.quic", "chromium-0.quic"}, site},
		{[]string{"firefox-0.quic", "firefox-1.quic"}, site},
		{[]string{"firefox-1.quic", "firefox-1.quic", "firefox-0.quic"}, site},
	} {
		q := NewInitials()
		for i, datagram := range c.datagrams {
			octets := fixture(t, datagram)
			before := slices.Clone(octets)
			name, err := q.Add(octets)
			if last := i == len(c.datagrams)-1; last && (name != c.want || err != nil) || !last && !errors.Is(err, ErrShort) {
				t.Errorf("%v, datagram %d: %q, %v", c.datagrams, i, name, err)
			}
			if !bytes.Equal(octets, before) {
				t.Errorf("%s was changed", datagram)
			}
		}
		if name, err := q.Add(nil); name != c.want || err != nil {
			t.Errorf("%v, asked again: %q, %v", c.datagrams, name, err)
		}
	}
}

// In all versions: frames out of order and repeated among all that an Initial may hold, a
// token, the keys of the first ID with a later one in the header, packets of other types
// beside them, and the name after two datagrams.
func TestInitials(t *testing.T) {
	t.Parallel()
	message := quicHello(t, nil)
	if len(message) < leastInitial {
		t.Fatalf("a hello of %d octets: no post-quantum share", len(message))
	}
	ack := slices.Concat([]byte{frameAck, 9, 0, 1, 0, 1, 1, frameAckECN, 9, 0, 0, 0, 1, 2, 3})
	first := slices.Concat([]byte{framePing, framePadding}, crypto(message, 900, 1000), crypto(message, 0, 500), ack, crypto(message, 950, 980))
	second := slices.Concat(crypto(message, 1000, len(message)), crypto(message, 480, 920), []byte{frameClose, 1, 0, 2, 'n', 'o'})
	for number, v := range versions {
		one, two := usual(), usual()
		one.version, one.token = number, []byte("token")
		two.version, two.number, two.id = number, 1, []byte("later")
		greased := two // RFC 9287
		greased.bits = 0x40
		// 0-RTT
		rtt := slices.Concat([]byte{0xc0 | (1+v.shift)&3<<4}, one.seal(t, nil)[1:5], []byte{8}, destination, []byte{0, 3, 1, 2, 3})
		for _, datagrams := range [][][]byte{
			{one.seal(t, first), two.seal(t, second)},
			{two.withID(destination).seal(t, second), one.seal(t, first)},
			{one.seal(t, first), one.seal(t, first), []byte("\x40 not of this connection"), two.seal(t, second)},
			{append(one.seal(t, first), rtt...), slices.Concat(rtt, two.seal(t, second), make([]byte, 9))},
			{rtt, one.seal(t, first), greased.seal(t, second)},
			{append(one.seal(t, first), two.seal(t, second)...)},
		} {
			q := NewInitials()
			for i, datagram := range datagrams {
				name, err := q.Add(datagram)
				if last := i == len(datagrams)-1; last && (name != site || err != nil) || !last && !errors.Is(err, ErrShort) {
					t.Fatalf("version %x, datagram %d of %d: %q, %v", number, i, len(datagrams), name, err)
				}
			}
		}
	}
}

func (i initial) withID(id []byte) initial { i.id = id; return i }

func TestInitialsRefuse(t *testing.T) {
	t.Parallel()
	message := quicHello(t, classic)
	whole := crypto(message, 0, len(message))
	good := usual().seal(t, whole)
	with := func(change func(*initial), frames []byte) []byte {
		i := usual()
		change(&i)
		return i.seal(t, frames)
	}
	none := func(*initial) {}
	var many []byte
	for i := range maxFrames + 1 {
		many = slices.Concat(many, []byte{frameCrypto, 0x40 | byte(2*i>>8), byte(2 * i), 1, byte(i)})
	}
	noName := body()
	for _, c := range []struct {
		name     string
		datagram []byte
		want     error
	}{
		{"nothing", nil, ErrMalformed},
		{"a short header", []byte("\x40abcdefgh"), ErrMalformed},
		{"no version", good[:4], ErrMalformed},
		{"version negotiation", slices.Concat(good[:1], make([]byte, 4), good[5:]), ErrVersion},
		{"draft 29", slices.Concat(good[:1], []byte{0xff, 0, 0, 29}, good[5:]), ErrVersion},
		{"an ID of 7 octets", with(func(i *initial) { i.id, i.keys = destination[:7], destination[:7] }, whole), ErrMalformed},
		{"an ID of 21 octets", with(func(i *initial) { i.id = make([]byte, 21) }, whole), ErrMalformed},
		{"a Retry", slices.Concat([]byte{0xf0}, good[1:]), ErrMalformed},
		{"shorter than it says", good[:len(good)-1], ErrMalformed},
		{"a changed octet", slices.Concat(good[:len(good)-1], []byte{good[len(good)-1] ^ 1}), ErrMalformed},
		{"a changed header", slices.Concat(good[:7], []byte{good[7] ^ 1}, good[8:]), ErrMalformed},
		{"a server's", with(func(i *initial) { i.side = "server in" }, whole), ErrMalformed},
		{"reserved bits", with(func(i *initial) { i.bits = 4 }, whole), ErrMalformed},
		{"a datagram of 1199 octets", with(func(i *initial) { i.length = 1199 }, whole), ErrMalformed},
		{"a frame of later packets", usual().seal(t, append([]byte{0x08, 0}, whole...)), ErrMalformed},
		{"a frame that ends early", with(func(i *initial) { i.length = 1 }, []byte{frameCrypto, 0}), ErrMalformed},
		{"no hello", usual().seal(t, nil), ErrShort},
		{"no beginning", usual().seal(t, crypto(message, 1, len(message))), ErrShort},
		{"no name", usual().seal(t, crypto(noName, 0, len(noName))), ErrNoName},
		{"frames that differ", with(none, slices.Concat(crypto(message, 0, 9), []byte{frameCrypto, 8, 1, ^message[8]})), ErrDiffers},
		{"beyond 16 KB", with(none, slices.Concat([]byte{frameCrypto}, varint(MaxBytes), []byte{1, 0})), ErrTooLong},
		{"far beyond", with(none, slices.Concat([]byte{frameCrypto}, bytes.Repeat([]byte{0xff}, 8), []byte{1, 0})), ErrTooLong},
		{"many frames", with(none, many), ErrTooMany},
	} {
		q := NewInitials()
		name, err := q.Add(c.datagram)
		if !errors.Is(err, c.want) || name != "" {
			t.Errorf("%s: %q, %v; want %v", c.name, name, err, c.want)
		}
		if name, again := q.Add(good); !errors.Is(c.want, ErrShort) && (name != "" || !errors.Is(again, c.want)) {
			t.Errorf("%s, asked again: %q, %v", c.name, name, again)
		}
	}
	if name, err := NewInitials().Add(good); name != site || err != nil {
		t.Errorf("unchanged: %q, %v", name, err)
	}
}

// After the first datagram nobody else's packets end an attempt; too many do.
func TestInitialsOfStrangers(t *testing.T) {
	t.Parallel()
	message := quicHello(t, classic)
	part, rest := usual().seal(t, crypto(message, 0, 100)), usual().seal(t, crypto(message, 100, len(message)))
	forged := slices.Concat(part[:len(part)-1], []byte{part[len(part)-1] ^ 1})
	other := usual()
	other.version, other.by = 0x6b3343cf, 1
	for _, strange := range [][]byte{other.seal(t, crypto(make([]byte, 200), 0, 200)), forged, nil, []byte("x"), forged[:900], slices.Concat(part[:1], []byte{0, 0, 0, 9}, part[5:]), make([]byte, 1500)} {
		q := NewInitials()
		for i, datagram := range [][]byte{part, strange, strange, rest} {
			name, err := q.Add(datagram)
			if i < 3 && !errors.Is(err, ErrShort) || i == 3 && (name != site || err != nil) {
				t.Errorf("%.9x, datagram %d: %q, %v", strange, i, name, err)
			}
		}
		q = NewInitials()
		for i, datagram := range [][]byte{part, strange, strange, strange, rest} {
			if name, err := q.Add(datagram); i < 4 && !errors.Is(err, ErrShort) || i == 4 && !errors.Is(err, ErrTooMany) {
				t.Errorf("%.9x, datagram %d: %q, %v", strange, i, name, err)
			}
		}
	}
}

// However a hello is cut into frames, these ordered, repeated and put into
// datagrams: its name or an error, and never another name.
func TestInitialsNameOrError(t *testing.T) {
	t.Parallel()
	message := quicHello(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		ends := append(rapid.SliceOfN(rapid.IntRange(1, len(message)-1), 2, 20).Draw(rt, "ends"), 700, 1400, len(message))
		slices.Sort(ends)
		var frames [][2]int
		from := 0
		for _, end := range ends {
			frames = append(frames, [2]int{max(0, from-rapid.IntRange(0, 20).Draw(rt, "overlap")), end})
			from = end
		}
		frames = rapid.Permutation(frames).Draw(rt, "order")
		maker := usual()
		if rapid.Bool().Draw(rt, "version 2") {
			maker.version = 0x6b3343cf
		}
		var datagrams [][]byte
		var content []byte
		for i, f := range frames {
			next := crypto(message, f[0], f[1])
			content = append(content, next...)
			if len(content) > 600 || i == len(frames)-1 {
				maker.number++
				datagrams = append(datagrams, maker.seal(t, content))
				content = nil
			}
		}
		q := NewInitials()
		for i, datagram := range datagrams {
			name, err := q.Add(datagram)
			switch last := i == len(datagrams)-1; {
			case i >= MaxDatagrams && errors.Is(err, ErrTooMany) || !last && errors.Is(err, ErrShort):
			case name != site || err != nil:
				rt.Fatalf("datagram %d of %d: %q, %v", i, len(datagrams), name, err)
			}
		}
	})
}
