package natlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// mostBlock is when a block is full, in octets of its lines.
const mostBlock = 8 << 20

// block is the lines of a minute, or of a part of it, and what a search needs to know of them. Compressed it is a frame of its
// own; a section of the index says where, and which endpoints it is about.
type block struct {
	lines []byte
	ports map[group][]uint16 // of endpoints, each at least once
	marks marks
}

// group is the endpoints of an address.
type group struct {
	address  [4]byte
	protocol model.Protocol
}

// marks are what a section says beside its endpoints. Times are in ms since 1970, 0: none.
type marks struct {
	First, Last int64  // of the lines
	Began, Over int64  // what stood then is in the blocks from the one of Began on, until here
	Fresh       int64  // nothing of before stands
	Paused      int64  // what happened was not told for a while
	Lost        uint64 // records
}

func newBlock() *block { return &block{ports: map[group][]uint16{}} }

// add writes a record behind the others.
func (b *block) add(r *Record) {
	b.lines = r.appendLine(b.lines)
	b.note(r)
}

// note says what a record is about.
func (b *block) note(r *Record) {
	at := r.Time.UnixMilli()
	if b.marks.First == 0 || at < b.marks.First {
		b.marks.First = at
	}
	b.marks.Last = max(b.marks.Last, at)
	if k, ok := r.key(); ok {
		g := group{k.address, k.protocol}
		b.ports[g] = append(b.ports[g], k.port)
		return
	}
	switch {
	case (r.Kind == LogBegun || r.Kind == LogEnded) && !r.Adopted:
		b.marks.Fresh = at
	case r.Kind == LogEnded:
		b.marks.Paused = at
	case r.Kind == Lost:
		b.marks.Lost += r.Count
	}
}

// readBlock makes a block of lines whose section is not written yet, without its endpoints.
func readBlock(lines []byte) (*block, error) {
	b := newBlock()
	b.lines = lines[:bytes.LastIndexByte(lines, '\n')+1] // a crash may have left less than a line
	first := true
	for line := range bytes.Lines(b.lines) {
		if !first && !bytes.Contains(line, []byte(`"kind":"l`)) { // log_begun, log_ended, lost
			continue
		}
		first = false
		r, err := readLine(line)
		if err != nil {
			return nil, err
		}
		b.note(&r)
	}
	return b, nil
}

// head is the fixed part of a section, which the groups follow: each an address, a protocol, the number of its ports, and these.
type head struct {
	Magic  uint32
	Length uint32 // of the section, with the head
	At     uint64 // of the frame in the file
	Frame  uint32 // its length
	Lines  uint32 // that of the lines in it
	Sum    uint32 // CRC-32 of these
	Groups uint32
	Marks  marks
}

const (
	magic     = 0x314c4e52 // RNL1
	groupHead = 4 + 1 + 3  // address, protocol, number of ports
)

var headLength = binary.Size(head{})

// section is that of a block whose frame is at a place.
func (b *block) section(at int64, frame int) []byte {
	h := head{Magic: magic, At: uint64(at), Frame: uint32(frame), Lines: uint32(len(b.lines)), Sum: sum(b.lines),
		Groups: uint32(len(b.ports)), Marks: b.marks}
	text := make([]byte, headLength, 1<<16)
	for g, ports := range b.ports {
		slices.Sort(ports)
		ports = slices.Compact(ports)
		text = append(text, g.address[:]...)
		text = append(text, byte(g.protocol), byte(len(ports)), byte(len(ports)>>8), byte(len(ports)>>16))
		for _, p := range ports {
			text = binary.LittleEndian.AppendUint16(text, p)
		}
	}
	h.Length = uint32(len(text))
	_, _ = binary.Encode(text, binary.LittleEndian, h) // it has room
	return text
}

var errIndex = errors.New("the index is damaged: move the files of this day away")

// part is a section as it is read.
type part struct {
	head
	groups int64 // where these are in the index
}

// sections reads the heads of an index. What a crash has left of a last one, or zeros in its place, is not among them; whole is how
// many octets the others have.
func sections(index io.ReaderAt, size int64) (all []part, whole int64, err error) {
	raw := make([]byte, headLength)
	for size-whole >= int64(headLength) {
		if _, err := index.ReadAt(raw, whole); err != nil {
			return nil, 0, fmt.Errorf("read the log's index: %w", err)
		}
		var h head
		_, _ = binary.Decode(raw, binary.LittleEndian, &h) // it is long enough
		if h == (head{}) {
			break
		}
		if h.Magic != magic || int(h.Length) < headLength {
			return all, whole, errIndex
		}
		if whole+int64(h.Length) > size {
			break
		}
		all = append(all, part{h, whole + int64(headLength)})
		whole += int64(h.Length)
	}
	return all, whole, nil
}

// groups are the endpoints of a section, as they are written.
type groups []byte

// has reports whether there are lines of an endpoint.
func (g groups) has(k key) bool {
	for rest := g; len(rest) >= groupHead; {
		n := int(rest[5]) | int(rest[6])<<8 | int(rest[7])<<16
		if groupHead+2*n > len(rest) {
			return false
		}
		if [4]byte(rest) != k.address || model.Protocol(rest[4]) != k.protocol {
			rest = rest[groupHead+2*n:]
			continue
		}
		ports := rest[groupHead:]
		low, high := 0, n
		for low < high {
			middle := (low + high) / 2
			if binary.LittleEndian.Uint16(ports[2*middle:]) < k.port {
				low = middle + 1
			} else {
				high = middle
			}
		}
		return low < n && binary.LittleEndian.Uint16(ports[2*low:]) == k.port
	}
	return false
}

// find calls visit for the records among lines that are of one of some endpoints, of each in their order, with their places.
func find(lines []byte, wanted []key, visit func(k key, r Record, place int)) error {
	for _, k := range wanted {
		text := []byte(`"external":"` + k.endpoint().String() + `"`)
		for at := 0; ; {
			i := bytes.Index(lines[at:], text)
			if i < 0 {
				break
			}
			begin := bytes.LastIndexByte(lines[:at+i], '\n') + 1
			end := bytes.IndexByte(lines[at+i:], '\n')
			if end < 0 {
				break // a line that a crash has left
			}
			end += at + i
			r, err := readLine(lines[begin:end])
			if err != nil {
				return err
			}
			if its, ok := r.key(); ok && its == k {
				visit(k, r, begin)
			}
			at = end
		}
	}
	return nil
}

func sum(lines []byte) uint32 { return crc32.ChecksumIEEE(lines) }

func (k key) endpoint() netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4(k.address), k.port) }

// milli is a time as marks have it.
func milli(t time.Time) int64 { return t.UnixMilli() }
