package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// didYouMean ends a complaint about a word with those of the names that are near
// it, by the same measure as for commands.
func didYouMean(word string, names []string) string {
	choice := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		choice.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	near := choice.SuggestionsFor(word)
	if len(near) == 0 {
		return ": see realmgate bench list"
	}
	return ": did you mean " + strings.Join(near, " or ") + "?"
}
