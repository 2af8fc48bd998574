package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// benchMethod is the flags of bench run that say how it measures.
type benchMethod struct {
	setup, profile, search, direction string
	rate                              float64
}

func (f *benchMethod) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.setup, "setup", "", "`SETUP` of tester and device: self-clocked, on one CPU, tells the cost of a frame; paced, on two, tells the rate without loss")
	flags.StringVar(&f.profile, "profile", string(bench.Quick), "`PROFILE`: quick; paper, with all points of the papers' tables; or rfc, with them and the durations and 20 rounds of RFC 2544, 8219 and 9693, which takes hours")
	flags.StringVar(&f.search, "search", "", "`METHOD` of searches in the paced set-up: strict, one trial without loss, or tolerant, several with little (default: tolerant in the profile quick, strict in rfc)")
	flags.StringVar(&f.direction, "direction", trafficgen.Both.String(), "`WAY` of established sessions' frames: forward, reverse or both")
	flags.Float64Var(&f.rate, "rate", 0, "frames per second, `N`, for scenarios that would find a rate themselves in the paced set-up")
}

// defaultMethod is what the flags say when none is given.
func defaultMethod() *benchMethod {
	return &benchMethod{profile: string(bench.Quick), direction: trafficgen.Both.String()}
}

// apply checks the words and puts them into the options of the scenario. changed
// says which flags were given.
func (f *benchMethod) apply(s bench.Scenario, o *bench.Options, changed func(string) bool) error {
	for flag, heeded := range map[string]bool{"direction": s.Directed, "rate": s.Rated} {
		if changed(flag) && !heeded {
			return fmt.Errorf("%s has no use for --%s: leave it out", s.Name, flag)
		}
	}
	if changed("setup") {
		if err := oneOf("setup", f.setup, string(bench.SelfClocked), string(bench.Paced)); err != nil {
			return err
		}
		o.Mode = bench.Mode(f.setup)
	}
	if err := oneOf("profile", f.profile, bench.Profiles()...); err != nil {
		return err
	}
	o.Profile, o.Rate = bench.Profile(f.profile), f.rate
	if !changed("repeat") && (o.Repeat == 0 || o.Profile == bench.RFC) {
		o.Repeat = o.Profile.Repeat()
	}
	goals := map[string]method.Goal{"": o.Profile.Goal(), "strict": method.Strict(), "tolerant": method.Tolerant()}
	goal, known := goals[f.search]
	if !known {
		return oneOf("search", f.search, "strict", "tolerant")
	}
	o.Search = goal
	for _, d := range []trafficgen.Direction{trafficgen.Forward, trafficgen.Reverse, trafficgen.Both} {
		if f.direction == d.String() {
			o.Direction = d
			return nil
		}
	}
	return oneOf("direction", f.direction, "forward", "reverse", "both")
}

func oneOf(flag, word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return fmt.Errorf("--%s %q: want %s", flag, word, strings.Join(words, " or "))
}
