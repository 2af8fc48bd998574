package packets

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
)

// Diff says where two frames differ, a line per field as
// "IPv4.TTL: want 63, got 64", or returns "" where their octets are the same.
func Diff(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	wanted, wantErr := Parse(want)
	received, gotErr := Parse(got)
	var lines []string
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		lines = append(lines, fmt.Sprintf("Parse: want error %v, got error %v", wantErr, gotErr))
	}
	lines = diffValues(lines, "", reflect.ValueOf(wanted), reflect.ValueOf(received))
	if len(lines) == 0 { // a difference that no field shows, as in an IPv4 option's padding
		lines = append(lines, fmt.Sprintf("octets: want % x, got % x", want, got))
	}
	return strings.Join(lines, "\n")
}

// addressType prints itself; its fields are nobody's business.
var addressType = reflect.TypeFor[netip.Addr]()

func diffValues(lines []string, name string, want, got reflect.Value) []string {
	switch {
	case reflect.DeepEqual(want.Interface(), got.Interface()):
		return lines
	case want.Kind() == reflect.Pointer && !want.IsNil() && !got.IsNil():
		return diffValues(lines, name, want.Elem(), got.Elem())
	case want.Kind() == reflect.Struct && want.Type() != addressType:
		for i := range want.NumField() {
			field := want.Type().Field(i).Name
			if name != "" {
				field = name + "." + field
			}
			lines = diffValues(lines, field, want.Field(i), got.Field(i))
		}
		return lines
	}
	return append(lines, fmt.Sprintf("%s: want %s, got %s", name, describe(want), describe(got)))
}

func describe(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "none"
	case v.Kind() == reflect.Pointer:
		return fmt.Sprintf("%+v", v.Elem().Interface())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return fmt.Sprintf("% x (%d octets)", v.Bytes(), v.Len())
	}
	return fmt.Sprintf("%+v", v.Interface())
}

// String sums p up in a line, as "tcp 10.0.0.1:5 > 10.0.0.2:80 SYN, 0 octets".
func (p Packet) String() string {
	switch {
	case p.ARP != nil:
		return fmt.Sprintf("arp operation %d, %s (%s) > %s (%s)",
			p.ARP.Operation, p.ARP.SenderIP, p.ARP.SenderMAC, p.ARP.TargetIP, p.ARP.TargetMAC)
	case p.TCP != nil:
		return fmt.Sprintf("%s %s, %d octets", p.Tuple(), p.TCP.Flags, len(p.Payload))
	case p.ICMP != nil:
		return fmt.Sprintf("%s type %d code %d, %d octets", p.Tuple(), p.ICMP.Type, p.ICMP.Code, len(p.Payload))
	case p.IPv4 != nil && (p.IPv4.MF || p.IPv4.FragmentOffset != 0):
		return fmt.Sprintf("%s fragment at %d, %d octets", p.Tuple(), int(p.IPv4.FragmentOffset)*8, len(p.Payload))
	case p.IPv4 != nil || p.IPv6 != nil:
		return fmt.Sprintf("%s, %d octets", p.Tuple(), len(p.Payload))
	}
	return fmt.Sprintf("ethertype %#04x, %d octets", p.Ethernet.Type, len(p.Payload))
}
