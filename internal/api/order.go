package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// order is one of rows of a type: by the fields, the first of which may be the greatest first.
type order struct {
	row    reflect.Type
	fields []field
	down   bool
}

// field is one that rows can be sorted by.
type field struct {
	name  string // in JSON
	index int
}

// orderOf reads a sort: a field's name, - and a field's name, or nothing. key are the fields that tell rows apart.
func orderOf(row reflect.Type, sort string, key []string) (order, error) {
	o := order{row: row}
	name, down := strings.CutPrefix(sort, "-")
	o.down = down
	sortable := fieldsOf(row)
	if name != "" {
		key = append([]string{name}, key...)
	}
	for _, want := range key {
		i := slices.IndexFunc(sortable, func(f field) bool { return f.name == want })
		if i < 0 {
			return o, fmt.Errorf("sort: there is no field %q: use %s, and - before it for the greatest first", want, strings.Join(names(sortable), ", "))
		}
		o.fields = append(o.fields, sortable[i])
	}
	return o, nil
}

// fieldsOf are the fields of rows that compare knows how to order.
func fieldsOf(row reflect.Type) (fields []field) {
	zero := reflect.New(row).Elem()
	for i := range row.NumField() {
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("json"), ",")
		if _, ordered := compare(zero.Field(i), zero.Field(i)); ordered && name != "-" {
			fields = append(fields, field{name, i})
		}
	}
	return fields
}

func names(fields []field) (list []string) {
	for _, f := range fields {
		list = append(list, f.name)
	}
	return list
}

// compare orders two rows, which are addressable.
func (o order) compare(x, y reflect.Value) int {
	for i, f := range o.fields {
		c, _ := compare(x.Field(f.index), y.Field(f.index))
		if i == 0 && o.down {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// mark is a row's place in the order, as a JSON object.
func (o order) mark(row reflect.Value) json.RawMessage {
	values := map[string]any{}
	for _, f := range o.fields {
		values[f.name] = row.Field(f.index).Interface()
	}
	text, _ := json.Marshal(values) // numbers, texts and addresses always can be written
	return text
}

// place is a row at a mark's place.
func (o order) place(mark json.RawMessage) (reflect.Value, error) {
	row := reflect.New(o.row)
	return row.Elem(), json.Unmarshal(mark, row.Interface())
}

// compare orders two values of one type; it is false for a type that has no order. They are addressable: an interface of a
// pointer needs no memory.
func compare(x, y reflect.Value) (c int, ordered bool) {
	switch x.Kind() {
	case reflect.String:
		return cmp.Compare(x.String(), y.String()), true
	case reflect.Int, reflect.Int64:
		return cmp.Compare(x.Int(), y.Int()), true
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return cmp.Compare(x.Uint(), y.Uint()), true
	case reflect.Float64:
		return cmp.Compare(x.Float(), y.Float()), true
	case reflect.Struct:
		switch a := x.Addr().Interface().(type) {
		case *netip.Addr:
			return a.Compare(*y.Addr().Interface().(*netip.Addr)), true
		case *netip.AddrPort:
			return a.Compare(*y.Addr().Interface().(*netip.AddrPort)), true
		case *netip.Prefix:
			return a.Compare(*y.Addr().Interface().(*netip.Prefix)), true
		case *time.Time:
			return a.Compare(*y.Addr().Interface().(*time.Time)), true
		}
	}
	return 0, false
}
