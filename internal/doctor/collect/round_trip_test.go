package collect

import (
	"context"
	"errors"
	"testing"

	"github.com/realmgate/realmgate/internal/doctor"
)

// Who ends a round trip hears nothing about the host; one that is over stays as it was.
func TestRoundTripThatIsEnded(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		trip    doctor.RoundTrip
		err     error
		untried bool
	}{
		{doctor.RoundTrip{Failed: "no answer"}, nil, true},
		{doctor.RoundTrip{NoAddress: "no answer"}, nil, true},
		{doctor.RoundTrip{}, errors.New("watch what is dropped"), true},
		{doctor.RoundTrip{Took: 1}, nil, false},
	} {
		one := trip{RoundTrip: c.trip}
		one.settle(ended, c.err)
		if (one.Untried != "") != c.untried || c.untried && (one.Failed != "" || one.NoAddress != "") {
			t.Errorf("%+v becomes %+v when it is ended", c.trip, one.RoundTrip)
		}
		going := trip{RoundTrip: c.trip}
		going.settle(t.Context(), c.err)
		if going.Failed != c.trip.Failed || going.NoAddress != c.trip.NoAddress || (going.Untried != "") != (c.err != nil) {
			t.Errorf("%+v becomes %+v", c.trip, going.RoundTrip)
		}
	}
}
