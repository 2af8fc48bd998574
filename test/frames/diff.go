package frames

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// Diff says where two frames differ, a line per field as
// "IPv4.TTL: want 63, got 64", or returns "" where their octets are the same.
func Diff(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	wanted, wantErr := packets.Parse(want)
	received, gotErr := packets.Parse(got)
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
