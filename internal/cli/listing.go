package cli

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// newListing makes the command of a listing, whose columns the row's type says.
func newListing(a *app, l client.Listing) *cobra.Command {
	command := &cobra.Command{Use: l.Name, Short: l.Short, Long: l.Long, Example: l.Example, Args: cobra.NoArgs}
	output, filter := outputFlag(command), filterFlags(command)
	command.RunE = does(func(ctx context.Context) error {
		rows := l.Rows()
		if err := a.client().Listing(ctx, l, *filter, rows.Interface()); err != nil {
			return err
		}
		if output.value == "json" {
			array := newJSONArray(a.stdout)
			for _, row := range rows.Elem().Seq2() {
				if err := array.add(row.Interface()); err != nil {
					return err
				}
			}
			return array.end()
		}
		return a.tableOf(l, rows.Elem()).write(a.stdout)
	})
	return command
}

// tableOf has a column for each field of the rows with the tag table.
func (a *app) tableOf(l client.Listing, rows reflect.Value) *table {
	row := reflect.TypeOf(l.Row)
	var heading []string
	var fields []int
	for i := range row.NumField() {
		if text, ok := row.Field(i).Tag.Lookup("table"); ok {
			heading, fields = append(heading, text), append(fields, i)
		}
	}
	t := newTable(heading...)
	for _, row := range rows.Seq2() {
		cells := make([]string, len(fields))
		for i, field := range fields {
			cells[i] = a.cell(row.Field(field).Interface())
		}
		t.add(cells...)
	}
	return t
}

// cell writes a value for people.
func (a *app) cell(value any) string {
	switch v := value.(type) {
	case uint64:
		return count(v)
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case []string:
		return strings.Join(v, ", ")
	case []model.Port:
		return opens(v)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return span(a.now().Sub(v).Seconds()) + " ago"
	case interface{ IsValid() bool }:
		if !v.IsValid() {
			return ""
		}
	}
	return fmt.Sprint(value)
}
