package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// Who asks the hosts hears which one did less than promised, once for a connection, and of none that was refused otherwise.
func TestWeakHost(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var heard []string
	b.weak = func(target Target, flow model.Tuple, can datapath.WebPromise) {
		heard = append(heard, fmt.Sprintf("%s %s by %s: %+v", target.Host, target.To, flow.Destination, can))
	}
	end := []string{"", fmt.Sprintf("send %s %d 0", packets.RST, cookie+1)}
	for _, e := range []datapath.WebEvent{about(datapath.WebRefused, "drop_host_refused"), about(datapath.WebWeak, "drop_host_options")} {
		e.Can = datapath.WebPromise{MSS: 536, SACK: true}
		b.hears(e) // of nobody
		b.hears(first(request), "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request))
		end[0] = "answer  " + string(e.Reason)
		b.hears(e, end...)
		b.hears(e) // of one that is over
		b.waits(time.Second, "forget")
	}
	if want := "[www.example. 10.0.0.100:8080 by 198.18.0.80:80: {MSS:536 SACK:true Timestamps:false}]"; fmt.Sprint(heard) != want {
		t.Errorf("heard was %v, want %s", heard, want)
	}
}
